package main

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/internal/budget"
	"github.com/ramet-run/ramet/internal/setting"
	"github.com/ramet-run/ramet/script"
)

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ramet.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfig(t *testing.T) {
	yes := true
	tests := []struct {
		name, text string
		want       config
	}{
		{"an empty file", "", config{}},
		{"only a remark", "# nothing yet\n", config{}},
		{"durations", "lease: 30s\ngrace: 2m\ntimeout: 1h\nkeep_failed_files: 24h\nretention: 48h\n",
			config{Lease: 30 * time.Second, Grace: 2 * time.Minute, Timeout: time.Hour, KeepFailedFiles: 24 * time.Hour, Retention: 48 * time.Hour}},
		{"numbers", "max_losses: 7\nlog_bytes: 4096\nslots: {shell: 16, v: 1}\n",
			config{MaxLosses: 7, LogBytes: 4096, Slots: map[domain.ScriptType]int{"shell": 16, "v": 1}}},
		{"URLs", "board: '@b'\narchive: none\nstream: off\n", config{Board: "@b", Archive: "none", Stream: "off"}},
		{"the Redis door", "resp: unix:redis.sock\n", config{RESP: "unix:redis.sock"}},
		{"circles", "circles: {friends: {context: 7}, others: }\ncircle_slots: 8\ncircle_timeout: 1m\nreply_expiry: 10m\n", config{ForCircles: circlesConfig{
			Circles:     map[string]circleConfig{"friends": {Context: 7}, "others": {}},
			CircleSlots: 8, CircleTimeout: time.Minute, ReplyExpiry: 10 * time.Minute}}},
		{"limits", "limits: {cpu: 1m, memory_bytes: 16777216, file_bytes: 4096, files: 16, processes: 4}\n",
			config{Limits: limitsConfig{CPU: time.Minute, MemoryBytes: 16 << 20, FileBytes: 4096, Files: 16, Processes: 4}}},
		{"bounds of the doors", "doors: {connections: 400, streams_per_actor: 3}\n",
			config{Doors: doorsConfig{Config: budget.Config{Connections: 400, StreamsPerActor: 3}}}},
		{"pages that may read", "doors: {cors_origins: [\"https://c.example.com\"]}\n", config{Doors: doorsConfig{Origins: []string{"https://c.example.com"}}}},
		{"runtimes", `runtimes:
  ruby: {command: [ruby, "{script}"], suffix: .rb, version: [ruby, --version], env: {A: b}}
  python: {interpreter: /opt/python3, fork: true, reuse: 100}
  node: {off: true}
  sal: {on: true, tools: [psql], write: [/srv]}
`, config{Runtimes: map[domain.ScriptType]runtimeConfig{
			"ruby":   {Command: []string{"ruby", "{script}"}, Suffix: ".rb", Version: []string{"ruby", "--version"}, Env: map[string]string{"A": "b"}},
			"python": {Interpreter: "/opt/python3", Fork: &yes, Reuse: 100},
			"node":   {Off: true},
			"sal":    {On: true, Tools: []string{"psql"}, Write: []string{"/srv"}},
		}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := loadConfig(writeConfig(t, tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got, err := loadConfig(""); err != nil || !cmp.Equal(got, config{}) {
		t.Errorf("no file: got %+v, %v", got, err)
	}
}

func TestBadConfig(t *testing.T) {
	tests := []struct {
		name, text, want string
	}{
		{"an unknown field, with its line", "lease: 10s\nlaese: 3s\n", `:2:1: unknown field "laese"; did you mean "lease"?`},
		{"an unknown field of a runtime", "runtimes:\n  v:\n    comand: [v]\n", `:3:5: unknown field "comand"; did you mean "command"?`},
		{"a duration without a unit", "lease: 10\n", `:1:8: lease: want a duration such as 30s, not "10"`},
		{"two mistakes on one line of text", "laese: 3s\ngarce: 3s\n", `:2:1: unknown field "garce"; did you mean "grace"?`},
		{"a network that is none", "doors: {shared_addresses: [10.0.0.0/99]}\n",
			`:1:28: doors.shared_addresses: want an address and how many bits of it count, such as 10.0.0.5/32 or 2001:db8::/48, not "10.0.0.0/99"`},
		{"an address that is none", "doors: {shared_addresses: [300.1.1.1]}\n", `not "300.1.1.1"`},
		{"slots of a type that there is not", "slots: {shel: 1}\n", `:1:15: slots.shel: there is no runtime for "shel"; did you mean "shell"?`},
		{"a context's slots of a type that there is not", "slots_per_context: {ruby: 1}\n",
			`:1:27: slots_per_context.ruby: there is no runtime for "ruby"; known are effect, node, osis, `},
		{"a script's memory, too little", "limits: {memory_bytes: 1}\n", ":1:24: limits.memory_bytes is 1, want 16777216 or more, or 0: the default"},
		{"a script's folder, too small", "limits: {folder_bytes: 1}\n", "limits.folder_bytes is 1"},
		{"a script's files, too few", "limits: {files: 1}\n", "limits.files is 1, want 16 or more, or 0: the default"},
		{"pages of everybody", "doors: {cors_origins: ['*']}\n", `:1:23: doors.cors_origins "*": want the origin`},
		{"more strangers than connections", "doors: {connections: 100, strangers: 100}\n", ":1:38: doors.strangers is 100"},
		{"a lease that is too short", "lease: 2s\n", ":1:8: lease is 2s, want 3s to 1h, or 0: the default"},
		{"a lease that is too long", "lease: 2h\n", "lease is 2h, want 3s to 1h"},
		{"a negative duration", "grace: -1s\n", "grace is -1s, want a positive duration"},
		{"a negative number", "max_losses: -1\n", ":1:13: max_losses is -1, want a positive number, or 0: the default"},
		{"no slots", "slots: {shell: 0}\n", "slots.shell is 0, want 1 to 100000"},
		{"priorities that age at once", "priority_aging: 1ms\n", "priority_aging is 1ms, want 1s to 1000h, or 0: priorities do not age"},
		{"a context twice in the metrics", "metrics_contexts: [7, 7]\n", "metrics_contexts: 7: want numbers of contexts, each once"},
		{"no slots for a context", "slots_per_context: {shell: -1}\n", "slots_per_context.shell is -1, want 1 to 100000"},
		{"slots of no type", "slots: {Shell: 1}\n", `script type "Shell"`},
		{"a runtime of no type", "runtimes: {A B: {off: true}}\n", `script type "A B"`},
		{"jobs for an interpreter, too many", "runtimes: {python: {reuse: 10001}}\n", "runtimes.python: reuse is 10001, want 1 to 10000"},
		{"jobs for an interpreter, fewer than none", "runtimes: {python: {reuse: -1}}\n", "reuse is -1"},
		{"jobs for an interpreter that is not forked", "runtimes: {python: {reuse: 10, fork: false}}\n", "reuse and fork: false"},
		{"jobs for an interpreter of another type", "runtimes: {node: {reuse: 10}}\n", "runtimes.node: reuse is for python"},
		{"a circle with a bad name", "circles: {a b: {context: 1}}\n", `circle "a b"`},
		{"an unknown field of a circle", "circles: {a: {contxt: 1}}\n", `unknown field "contxt"`},
		{"too many slots for circles", "circle_slots: 100001\n", "circle_slots is 100001"},
		{"replies that expire before they come", "reply_expiry: -1s\n", "reply_expiry"},
		{"no YAML", "lease: [\n", ":1:1: "},
		{"a list", "- 1\n", ":1:1: want fields"},
		{"names where blocks are wanted", "effects: {echo: {url: x}}\n", ":1:10: effects: want a list of blocks, each of which begins as - name: …"},
		{"names where a list is wanted", "metrics_contexts: {a: 1}\n", ":1:19: metrics_contexts: want a list, such as [a, b]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := writeConfig(t, tt.text)
			_, err := loadConfig(path)
			if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want one of kind invalid with %q", err, tt.want)
			}
			for _, bad := range []string{"\n", "main.", "time.Duration"} {
				if strings.Contains(err.Error(), bad) {
					t.Errorf("got %q in %q", bad, err)
				}
			}
			if !strings.HasPrefix(err.Error(), "config file "+path+":") {
				t.Errorf("got %q, want the file's name first", err)
			}
		})
	}
}

// What can be set is what the table says, in a type that holds it, and nothing else.
func TestConfigIsTheTable(t *testing.T) {
	fields := map[string]reflect.Type{}
	leaves("", reflect.TypeFor[config](), fields)
	for _, s := range setting.All() {
		key := strings.TrimSuffix(s.Key, ".*") // of a map of plain values, which is one field
		typ, known := fields[s.Key]
		if !known {
			typ, known = fields[key]
		}
		if s.Key == "" {
			continue
		}
		if !known {
			t.Errorf("%s is in the table, and no field of the config file", s.Key)
			continue
		}
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		is := map[reflect.Kind][]setting.Kind{reflect.Bool: {setting.Switch}, reflect.String: {setting.Text}, reflect.Int: {setting.Number, setting.Bytes},
			reflect.Int64: {setting.Bytes}, reflect.Uint32: {setting.Number}, reflect.Float64: {setting.Ratio}, reflect.Slice: {setting.List, setting.Blocks},
			reflect.Map: {setting.Map}}[typ.Kind()]
		switch {
		case typ == reflect.TypeFor[time.Duration]():
			is = []setting.Kind{setting.Duration}
		case typ.Kind() == reflect.Map && key != s.Key:
			is = []setting.Kind{setting.Number, setting.Text}
		}
		if !slices.Contains(is, s.Kind) {
			t.Errorf("%s is a %s by the table, and of type %v", s.Key, s.Kind, typ)
		}
	}
	for key := range fields {
		if _, known := setting.ByKey(key); !known {
			if _, known = setting.ByKey(key + ".*"); !known {
				t.Errorf("%s is a field of the config file, and has no row in the table of package setting", key)
			}
		}
	}
}

// leaves are the fields of a struct that have no fields themselves, by their keys.
func leaves(before string, typ reflect.Type, into map[string]reflect.Type) {
	for f := range fieldsOf(typ) {
		name, rest, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		key := strings.TrimPrefix(before+"."+name, ".")
		ours := func(t reflect.Type) bool { return t.Kind() == reflect.Struct && t != reflect.TypeFor[effect.Text]() }
		switch {
		case name == "-":
		case rest == "inline":
			leaves(before, f.Type, into)
		case ours(f.Type):
			leaves(key, f.Type, into)
		case f.Type.Kind() == reflect.Map && ours(f.Type.Elem()):
			leaves(key+".*", f.Type.Elem(), into)
		default:
			into[key] = f.Type
		}
	}
}

func fieldsOf(typ reflect.Type) iter.Seq[reflect.StructField] {
	return func(yield func(reflect.StructField) bool) {
		for i := range typ.NumField() {
			if !yield(typ.Field(i)) {
				return
			}
		}
	}
}

// The example is what a config file may be: as it is, and with every # before a setting
// taken away.
func TestExampleConfig(t *testing.T) {
	text := setting.ExampleFile()
	if got, err := loadConfig(writeConfig(t, text)); err != nil || !cmp.Equal(got, config{}, cmp.Exporter(func(reflect.Type) bool { return true })) {
		t.Errorf("as it is: got %+v, %v, want nothing set", got, err)
	}
	whole := regexp.MustCompile(`(?m)^#([^ ]|  +[a-z_A-Z]+:)`).ReplaceAllString(text, "$1")
	path := writeConfig(t, whole)
	read, err := inspectConfig(path, func(string) string { return "" }, nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, whole)
	}
	for _, v := range read.Values() {
		if v.Source == "default" {
			t.Errorf("the example does not have %s", v.Key)
		}
	}
}

// A flag goes before the environment, that before the file, and that before the default.
func TestWhatGoesBefore(t *testing.T) {
	path := writeConfig(t, "lease: 10s\ngrace: 20s\ntimeout: 1m\nlabels: {zone: eu, disk: ssd}\nboard: redis://u:geheim@h:1\nbuses: [nats:]\n"+
		"runtimes: {v: {command: [v], env: {TOKEN: geheim}}}\n")
	variables := map[string]string{"RAMET_GRACE": "30s", "RAMET_LEASE": "20s", "RAMET_DOORS_REQUESTS": "7", "RAMET_BUS": "nats: nats://u:geheim@h",
		"RAMET_LABELS": "zone=us"}
	read, err := inspectConfig(path, func(name string) string { return variables[name] },
		[]setting.Given{{Flag: "lease", Text: "30s"}, {Flag: "label", Text: "gpu=yes"}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]setting.Value{}
	for _, v := range read.Values() {
		got[v.Key] = v
		if strings.Contains(v.Value, "geheim") {
			t.Errorf("%s shows a password: %s", v.Key, v.Value)
		}
	}
	for key, want := range map[string][2]string{
		"lease": {"30s", "flag --lease"}, "grace": {"30s", "environment $RAMET_GRACE"}, "timeout": {"1m", "file " + path + ":3"},
		"retention": {"24h", "default"}, "doors.requests": {"7", "environment $RAMET_DOORS_REQUESTS"}, "buses": {"nats: nats://…@h", "environment $RAMET_BUS"},
		"labels.zone": {"us", "environment $RAMET_LABELS"}, "labels.disk": {"ssd", "file " + path + ":4"}, "labels.gpu": {"yes", "flag --label"},
	} {
		if v := got[key]; v.Value != want[0] || v.Source != want[1] {
			t.Errorf("%s: got %q from %q, want %q", key, v.Value, v.Source, want)
		}
	}
	t.Setenv("RAMET_DOORS_REQUESTS", "7")
	t.Setenv("RAMET_LABELS", "zone=us")
	c, err := loadConfig(path)
	if err != nil || c.Doors.Requests != 7 || c.Lease != 10*time.Second || !cmp.Equal(c.Labels, domain.Labels{"zone": "us", "disk": "ssd"}) {
		t.Errorf("loaded: got %d requests, a lease of %v, labels %v, %v", c.Doors.Requests, c.Lease, c.Labels, err)
	}
	t.Setenv("RAMET_LEASE", "1s")
	if _, err := loadConfig(""); err == nil || !strings.Contains(err.Error(), "$RAMET_LEASE: lease is 1s") {
		t.Errorf("a bad variable: got %v", err)
	}
}

func TestConfigFilesThatCannotBeRead(t *testing.T) {
	_, err := loadConfig(filepath.Join(t.TempDir(), "nowhere.yaml"))
	if !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("no file: got %v", err)
	}
	if _, err := loadConfig(t.TempDir()); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("a folder: got %v", err)
	}
}

func TestNodeConfig(t *testing.T) {
	c := config{Lease: time.Minute, Grace: 2 * time.Minute, MaxLosses: 3, Timeout: time.Hour, LogBytes: 4, KeepFailedFiles: 5, Retention: 6,
		Slots: map[domain.ScriptType]int{"v": 2}, Limits: limitsConfig{Files: 9}}
	got := (&parts{sagas: new(sagas)}).nodeConfig(options{name: "n", runnerID: 7, dataDir: "/d", lease: 10 * time.Second}, c)
	if got.Lease != 10*time.Second {
		t.Errorf("lease: got %v, want the flag's before the file's", got.Lease)
	}
	if got.Grace != 2*time.Minute || got.MaxLosses != 3 || got.Timeout != time.Hour || got.LogBytes != 4 || got.KeepFailedFiles != 5 || got.Retention != 6 {
		t.Errorf("got %+v, want what the file says", got)
	}
	if got.Name != "n" || got.RunnerID != 7 || got.DataDir != "/d" || got.Slots["v"] != 2 || got.Limits != (script.Limits{Files: 9}) {
		t.Errorf("got %+v", got)
	}
}
