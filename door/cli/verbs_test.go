package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// hostileText acts on a terminal in each way there is.
const hostileText = "a\x1b[31mb\x1b]0;c\x07d\re\u009bf\u202eg\u2066h\u200fi\nj\u2028k"

// verbs are arguments for each command that shows what a node says. Those that
// say nothing of it, or go on for ever, are in silent.
var verbs = map[string]string{
	"actor list": "", "actor show": "2", "actor update": "2 --address x",
	"archive search": "word", "archive show": "job:1:1", "audit log": "", "audit log verify": "", "audit log export": "",
	"ban list": "", "ban flow": "3", "ban context": "", "ban all": "", "ban type": "shell", "ban blueprint": "b", "ban effect": "e",
	"ban routine": "r", "ban saga": "s",
	"blueprint list": "", "blueprint show": "b", "blueprint versions": "b", "blueprint graph": "b", "blueprint diff": "b", "blueprint delete": "b",
	"bulk list": "", "bulk show": "1", "bulk wait": "1", "bulk cancel": "1",
	"circle list": "", "circle show": "t", "circle explain": "t", "circle delete": "t",
	"context create": "", "context decrypt": "1", "context encrypt": "1", "context rekey": "1", "context list": "", "context show": "1", "context artifacts": "1",
	"context update": "1 --weight 2", "context grant": "1 2 --role reader", "context revoke": "1 2",
	"console":         "",
	"deadletter list": "", "deadletter show": "work 1", "deadletter replay": "work 1", "deadletter drop": "work 1",
	"doctor": "", "duty show": "", "duty clear": "", "effect list": "", "effect show": "e", "effect pause": "e", "effect resume": "e",
	"explain": "job:1:1", "flow approve": "1 s", "flow artifacts list": "1", "job artifacts list": "1", "flow cancel": "1", "flow delete": "1",
	"flow done": "1 s", "flow explain": "1", "flow graph": "1", "flow list": "",
	"flow logs": "1", "flow pause": "1",
	"flow reject": "1 s", "flow rerun": "1", "flow resume": "1", "flow retry": "1", "flow show": "1", "flow skip": "1 s",
	"inbox": "", "info": "", "job cancel": "1", "job explain": "1", "job list": "", "job retry": "1", "job show": "1",
	"job signal": "1 s", "job history": "1", "job fork": "1 --from s",
	"message explain": "1", "message list": "", "message show": "1", "node list": "", "node show": "n", "node drain": "", "node discard": "x",
	"node reload": "", "node log-level": "debug",
	"peer list": "", "peer remove": "p", "prerequisite meet": "p",
	"secret list": "", "secret delete": "s",
	"listener list": "", "listener show": "l", "listener pause": "l", "listener resume": "l", "listener delete": "l",
	"webhook list": "", "webhook show": "w", "webhook update": "w --paused", "webhook delete": "w", "webhook rotate": "w",
	"ban show all": "", "ban show blueprint": "b", "ban show context": "", "ban show effect": "e", "ban show flow": "3", "ban show routine": "r",
	"ban show saga": "s", "ban show type": "shell", "ban lift all": "",
	"ban lift blueprint": "b", "ban lift context": "", "ban lift effect": "e", "ban lift flow": "3", "ban lift routine": "r",
	"ban lift saga": "s", "ban lift type": "shell",
	"routine list": "", "routine show": "r", "routine pause": "r", "routine resume": "r", "routine run": "r", "routine delete": "r",
	"runner list": "", "runner show": "1",
	"saga list": "", "saga show": "s", "saga versions": "s", "saga instances": "s", "saga explain": "s c", "saga history": "s c", "saga lag": "s",
	"saga pause": "s", "saga resume": "s",
	"saga delete": "s", "saga diff": "s", "saga migrate": "s", "saga replay": "s c", "saga rewind": "s --stream WORKFLOW_EVENTS",
	"token list": "", "top": "", "token revoke": "x", "schedule list": "", "schedule show": "s", "schedule next": "s", "schedule pause": "s",
	"schedule resume": "s", "schedule trigger": "s", "schedule backfill": "s --from 1 --to 2 --dry-run", "schedule delete": "s",
}

// silent are the others, with where they are looked at instead or why not.
var silent = []string{
	"actor add", "actor new", "audit", "archive export", "backup", "backup verify", "board copy", "restore", "blueprint apply", "blueprint check",
	"blueprint import", "blueprint schema", "blueprint test",
	"circle serve", "circle submit", "circle wait",
	"config check", "config example", "config show", "profile add", "profile list", "profile remove", "profile use",
	"completion bash", "completion fish", "completion powershell", "completion zsh", "duty set", "effect test", "event publish", "flow artifacts get",
	"job artifacts get", "flow submit",
	"flow update", "flow wait", "flow watch", "import",
	"job logs", "node rekey", "peer card", "job submit", "job wait", "message send", "message wait", "now", "peer add", "peer nats-config", "rhai",
	"rhai check", "rhai fmt", "routine apply", "run", "saga apply", "saga check", "saga schema",
	"approval", "call", "gather", "random", "sleep", "step", "uuid", "wait",
	"saga test", "webhook create", "listener apply", "schedule apply", "schedule create", "schedule preview", "secret set", "serve", "token", "version",
}

// TestNoVerbLetsStrangersActOnATerminal has a node answer each operation with
// hostile texts wherever there is room for one.
func TestNoVerbLetsStrangersActOnATerminal(t *testing.T) {
	s := hostileNode(t, func(*service.Operation) {})
	t.Setenv("RAMET_DATA", filepath.Join(t.TempDir(), "none"))

	var paths []string
	walk((&app{std: Streams{Out: os.Stdout, Err: os.Stderr}}).root(), func(path string) { paths = append(paths, path) })
	failed := 0
	for _, path := range paths {
		args, shows := verbs[path]
		if !shows {
			if !slices.Contains(silent, path) {
				t.Errorf("ramet %s: give it arguments in verbs", path)
			}
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		var out, errs bytes.Buffer
		all := append(append(strings.Fields(path), strings.Fields(args)...), "--node", s.URL)
		code := Main(ctx, all, Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, Hooks{})
		cancel()
		if code != 0 {
			failed++
			t.Logf("ramet %v: exit code %d: %s", all, code, &errs)
		}
		for _, r := range out.String() + errs.String() {
			if r != '\n' && r != '\t' && domain.Acts(r) {
				t.Errorf("ramet %v: got %q in\n%q\n%q", all, r, &out, &errs)
				break
			}
		}
	}
	if failed > len(verbs)/4 {
		t.Errorf("%d of %d commands showed only an error", failed, len(verbs))
	}
}

// hostileNode answers each operation with hostile texts wherever there is room for one, and
// tells asked of it.
func hostileNode(t *testing.T, asked func(o *service.Operation)) *httptest.Server {
	mux := http.NewServeMux()
	for i := range service.Operations {
		o := &service.Operations[i]
		mux.HandleFunc(o.Method+" "+o.Path, func(w http.ResponseWriter, r *http.Request) {
			asked(o)
			if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
				w.WriteHeader(http.StatusConflict)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(filled(hostileText, o.Result))
		})
	}
	mux.HandleFunc("POST "+api.ConsoleLinkPath, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(filled(hostileText, api.ConsoleLink{}))
	})
	mux.HandleFunc("/info", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(filled(hostileText, api.Info{}))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// walk calls f with the path of each command that does something.
func walk(c *cobra.Command, f func(path string)) {
	for _, sub := range c.Commands() {
		if _, path, _ := strings.Cut(sub.CommandPath(), " "); !sub.HasSubCommands() || sub.Annotations[takesArgs] != "" {
			f(path)
		}
		walk(sub, f)
	}
}

// TestFlagsAreShownByWhatTheyTake holds that help names what a flag takes, and no command or
// empty list that happens to stand in its text.
func TestFlagsAreShownByWhatTheyTake(t *testing.T) {
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if name, usage := pflag.UnquoteUsage(f); strings.HasPrefix(name, "ramet") || f.DefValue == "[]" && f.Value.Type() == "uintSlice" {
				t.Errorf("%s: --%s takes %q (default %s): %s", c.CommandPath(), f.Name, name, f.DefValue, usage)
			}
		})
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(Commands())
}

// filled is a value of v's type with a text wherever there is room for one.
func filled(text string, v any) any {
	if v == nil {
		return nil
	}
	p := reflect.New(reflect.TypeOf(v))
	fill(text, p.Elem(), 6)
	return p.Interface()
}

func fill(text string, v reflect.Value, depth int) {
	if depth == 0 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(text, v.Elem(), depth-1)
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "Next" && name != "Cursor" { // pages would go on for ever
				fill(text, v.Field(i), depth-1)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`"x"`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(text, v.Index(0), depth-1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(text, key, depth-1)
		fill(text, value, depth-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Bool:
		v.SetBool(true)
	}
}
