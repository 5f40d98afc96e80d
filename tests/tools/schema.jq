# What json= may write, held against all the lines of a run (jq -s -f).  It is
# stricter than pardd-json(5): no key may be missing, and none be new.

def want(ok; what): if ok then . else error(what) end;

def count: type == "number" and . >= 0 and . == floor;
def maybe(f): . == null or f;
def text: type == "string";
def flag: type == "boolean";
def time: text and test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z$");
def seconds: type == "number" and . >= 0;
def list(f): type == "array" and all(.[]; f);
def word(list): . as $w | list | index([$w]) != null;
def range: keys == ["length", "offset"] and all(.[]; count) and .length > 0;

def place: keys == ["length", "offset", "target_offset"] and
	all(.[]; count) and .length > 0;

# Keys and what holds for their values.  New ones of an end go here.
def holds(rules): keys == (rules | keys) and all(rules[]; .);
def disk_rules: {
	name: (.name | maybe(text)), vendor: (.vendor | maybe(text)),
	model: (.model | maybe(text)), serial: (.serial | maybe(text)),
	wwn: (.wwn | maybe(text)), transport: (.transport | maybe(text)),
	by_id: (.by_id | maybe(text)), backing: (.backing | maybe(text)),
	partition: (.partition | count)};
def end_rules: {
	name: (.name | maybe(text)),
	kind: (.kind | maybe(word(["file", "block_device", "scsi_disk",
	    "nvme_disk", "nbd", "rbd",
	    "stream", "generated", "discarded"]))),
	size: (.size | maybe(count)), block: (.block | maybe(count)),
	offset: (.offset | maybe(count)), inode: (.inode | maybe(count)),
	device: (.device | maybe(text and test("^[0-9]+:[0-9]+$"))),
	disk: (.disk | maybe(type == "object" and holds(disk_rules))),
	created: (.created | flag)};

def side: type == "object" and holds(end_rules);
def moved: {bytes_read: (.bytes_read | count),
	bytes_written: (.bytes_written | count),
	bytes_unreadable: (.bytes_unreadable | count),
	bytes_spared: (.bytes_spared | count),
	bytes_outside: (.bytes_outside | count),
	bytes_verified: (.bytes_verified | count),
	bytes_differing: (.bytes_differing | count),
	bytes_mended: (.bytes_mended | count),
	seconds: (.seconds | seconds)};
def hash: holds({
	algorithm: (.algorithm | word(["sha256", "sha512", "sha1", "md5",
	    "blake2b512", "sha3-256", "xxh128"])),
	digest: (.digest | maybe(text and test("^[0-9a-f]+$"))),
	expected: (.expected | maybe(text and test("^[0-9a-fA-F]+$"))),
	packed: (.packed | maybe(text and test("^[0-9a-f]+$")))});
# In order of precedence: the status is that of the first that there is.
def kinds: ["refused", "usage", "left", "signal", "fault", "short", "empty",
	"not_flushed", "not_swept", "not_tried", "map_not_saved", "not_verified", "differs",
	"longer", "unreadable", "checksum", "digest", "not_recorded"];
def reason: holds({kind: (.kind | word(kinds)),
	status: (.status | count and . > 0 and . < 256),
	end: (.end | maybe(text)), bytes: (.bytes | maybe(count)),
	ranges: (.ranges | maybe(count)), errno: (.errno | maybe(count)),
	force: (.force | maybe(text)), message: (.message | maybe(text))});
def judged: . as $r | kinds | map(. as $k | $r[] | select(.kind == $k)) |
	first | .status // 0;
def ending: moved + {status: (.status | count and . < 256),
	verdict: (.verdict | word(["complete", "unreadable", "mismatch",
	    "short", "not_flushed", "stopped", "refused", "usage"])),
	message: (.message | text), signal: (.signal | maybe(count)),
	reasons: (.reasons | list(reason)),
	bytes_packed: (.bytes_packed | maybe(count)),
	bytes_holes: (.bytes_holes | count),
	bytes_zeroed: (.bytes_zeroed | count),
	bytes_shared: (.bytes_shared | count),
	flushed: (.flushed | flag), verified: (.verified | flag),
	hashes: (.hashes | list(hash)),
	confined: (.confined | list(word(["no_new_privs", "capabilities",
	    "landlock", "seccomp"]))),
	view: (.view | maybe(holds({file: (.file | text),
	    from_target: (.from_target | count), when_read: (.when_read | count),
	    with_error: (.with_error | count), in_use: (.in_use | flag)}))),
	in_flight: (.in_flight | . == null or (keys == ["reads", "writes"] and (map(count) | all))), started: (.started | time),
	ended: (.ended | time), source: (.source | side),
	target: (.target | side)};

# With several targets only.
def several(f): if has("targets") then
	{targets: (.targets | length > 1 and list(f))} else {} end;
def outcome: holds({end: (.end | side), status: (.status | count),
	verdict: (.verdict | text), message: (.message | text),
	reasons: (.reasons | list(reason)),
	bytes_written: (.bytes_written | count), flushed: (.flushed | flag),
	verified: (.verified | flag), mismatch: (.mismatch | list(place))});

def lost_rules: {
	files: (.files | count), structures: (.structures | count),
	free: (.free | count),
	state: (.state | word(["clean", "dirty", "damaged"]))};

def area_rules: {
	partition: (.partition | maybe(count and . > 0)),
	outside: (.outside | flag), type: (.type | maybe(text)),
	label: (.label | maybe(text)), offset: (.offset | maybe(count)),
	length: (.length | maybe(count and . > 0)),
	bytes: (.bytes | count and . > 0), ranges: (.ranges | count and . > 0),
	lost: (.lost | maybe(holds(lost_rules))),
	command: (.command | maybe(text)), left_out: (.left_out | count),
	files_hit: (.files_hit | maybe(list(text))), files_all: (.files_all | flag)};

def fs_rules: {
	partition: (.partition | maybe(count and . > 0)),
	volume: (.volume | maybe(text)),
	offset: (.offset | count), length: (.length | count and . > 0),
	type: (.type | maybe(text)), label: (.label | maybe(text)),
	used: (.used | maybe(count)), free: (.free | maybe(count)),
	state: (.state | word(["clean", "dirty", "damaged", "unknown"])),
	treated: (.treated | word(["used", "whole", "ordered"])),
	reason: (.reason | maybe(text))};

def rules:
	{schema: (.schema == "pardd/1"), event: true} +
	if .event == "plan" then several(keys == ["end"] and (.end | side)) + {
		version: (.version | text), started: (.started | time),
		operands: (.operands | list(text)),
		source: (.source | side), target: (.target | side),
		block_size: (.block_size | count and . > 0),
		length: (.length | maybe(count)),
		transfer: (.transfer | count and . > 0),
		engine: (.engine | . == "async" or . == "threads"),
		engine_reason: (.engine_reason | type == "string"),
		workers: (.workers | count and . >= 1 and . <= 16),
		zones: (.zones | maybe(count and . >= 1 and . <= 16)),
		holes: (.holes | flag), sparse: (.sparse | flag),
		reflink: (.reflink | flag),
		rest: (.rest | maybe(word(["zero", "trim"]))),
		decode: (.decode | maybe(word(["auto", "bz2", "gz", "lz4", "none", "xz", "zip", "zst"]))),
		decoded: (.decoded | maybe(word(["bz2", "gz", "lz4", "xz", "zip", "zst"]))),
		encode: (.encode | maybe(text)),
		table: (.table | maybe(word(["fix", "new"]))),
		coe: (.coe | flag), retries: (.retries | count),
		sync: (.sync | flag), compare: (.compare | flag),
		verify: (.verify | maybe(word(["1", "sample", "stream", "source"]))),
		dry_run: (.dry_run | flag),
		used: (.used | maybe(word(["only", "first", "meta"]))),
		bytes_free: (.bytes_free | maybe(count)),
		file_systems: (.file_systems | list(holds(fs_rules))),
		rate: (.rate | maybe(count and . > 0)),
		ioprio: (.ioprio | maybe(text))}
	elif .event == "progress" then moved + {
		phase: (.phase | word(["copying", "flushing", "verifying",
		    "repairing", "comparing", "scraping",
		    "retrying", "filling", "clearing the rest"])),
		stopping: (.stopping | flag),
		class: (.class | maybe(word(["metadata", "used", "rest"]))),
		stalled: (.stalled | maybe(keys == ["on", "seconds"] and
		    (.seconds | seconds) and
		    (.on | word(["source", "target", "flush"])))),
		bytes_finished: (.bytes_finished | count),
		bytes_left: (.bytes_left | maybe(count)),
		temperature: (.temperature | maybe(type == "number")),
		length: (.length | maybe(count))}
	elif .event == "dropped" then {
		target: (.target | text), status: (.status | count and . > 0),
		message: (.message | text),
		bytes_written: (.bytes_written | count)}
	elif .event == "gone" then {
		seconds: (.seconds | seconds), wait: (.wait | count and . > 0)}
	elif .event == "pattern" then {
		length: (.length | count and . > 0),
		period: (.period | count and . > 0),
		share: (.share | type == "number" and . > 0 and . < 1)}
	elif .event == "back" then {name: (.name | text)}
	elif .event == "error" then {
		offset: (.offset | count), length: (.length | count and . > 0)}
	elif .event == "result" then ending + several(outcome) + {
		unreadable: (.unreadable | list(range)),
		mismatch: (.mismatch | list(place)),
		damage: (.damage | list(holds(area_rules)))}
	elif .event == "run" then ending + several(outcome) + {
		length: (.length | maybe(count)), uid: (.uid | count),
		operands: (.operands | list(text))}
	else {unknown: false} end;

def verdict_of: {"0": "complete", "1": "usage", "14": "mismatch",
	"100": "unreadable", "101": "refused", "102": "short",
	"103": "not_flushed"}[tostring];

def rising(f): [.[] | f] | . == sort;

map(want(holds(rules);
    "\(.event): " + ([rules | to_entries[] | select(.value | not) | .key] +
    (keys - (rules | keys)) + ((rules | keys) - keys) | join(" ")))) |

if length == 1 and .[0].event == "run" then .
else
	[.[] | select(.event == "error")] as $errors |
	[.[] | select(.event == "progress")] as $progress |
	[.[] | select(.event == "plan")] as $plans |
	last as $r |
	want($r.event == "result"; "the last is no result") |
	want([.[] | select(.event == "result")] | length == 1; "results") |
	want($plans | length <= 1; "plans") |
	want(length == 1 or .[0].event == "plan"; "the first is no plan") |
	want($errors | map({offset, length}) == $r.unreadable; "errors") |
	want([$r.unreadable[] | .offset, .offset + .length] |
	    . == unique; "ranges that touch") |
	want([$r.unreadable[].length] | add // 0 | . == $r.bytes_unreadable;
	    "bytes_unreadable") |
	want([$r.mismatch[] | .offset, .offset + .length] |
	    . == unique; "differing ranges that touch") |
	want([($r.targets // [$r])[].mismatch[].length] | add // 0 |
	    . == $r.bytes_differing or $r.status > 128; "bytes_differing") |
	want($r.verified | not or $r.mismatch == []; "verified") |
	want($progress | rising(.seconds) and rising(.bytes_read) and
	    rising(.bytes_written); "progress goes back") |
	want($progress | all(.bytes_written <= $r.bytes_written and
	    .seconds <= $r.seconds); "progress past the end") |
	want($plans | all(.source == $r.source and .target == $r.target and
	    .started == $r.started); "ends") |
	want($r.started <= $r.ended; "it ended before it started") |
	want(($r.status | verdict_of) as $v | if $v != null then
	    $r.verdict == $v else $r.verdict | word(["stopped", "refused"])
	    end; "verdict") |
	want(($r.reasons | judged) == $r.status; "reasons") |
	want($r.targets // [] | all((.reasons | judged) == .status);
	    "reasons of a target") |
	want(($r.signal == null) or $r.status == $r.signal + 128; "signal")
end | true
