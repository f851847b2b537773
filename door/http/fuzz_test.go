package http

import (
	"testing"

	"github.com/ramet-run/ramet/api"
)

// FuzzBody feeds bodies of strangers to every operation that takes one.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{" ", `{"jobs":[{"id":1,"script":"x","script_type":"v","env_vars":{"A":"b"},"depends":[2]}]}`, `{`, `[]`, `{"a":"\ud800"}`,
		"\u0085{}", `{"jobs":null}`, `{"timeout":1e3}`, `{"script":"x"} {}`, `{"retries":-1}`, `{"name":"go"}`, `{"admins":[1],"max_running_by_type":{"v":1}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for i := range api.Operations {
			o := &api.Operations[i]
			if len(body) == 0 || !newBinder(o).body {
				continue
			}
			if depth(body) < 0 {
				t.Errorf("depth of %q is %d", body, depth(body))
			}
			_ = decodeStrict(body, o.NewParams())
		}
	})
}
