package salscript_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/script/salscript"
)

// FuzzTemplate wants an answer for any text, and text without brackets back.
func FuzzTemplate(f *testing.F) {
	for _, e := range textExamples {
		if _, text, found := strings.Cut(e.source, `file_write("t", "`); found {
			text, _, _ = strings.Cut(text, `");`)
			f.Add(text)
		}
	}
	f.Add("{{-}}{%-%}{#-#}{")
	f.Add("{% for x in l %}{% for y in l %}{{ x - -y }}{% endfor %}{% endfor %}")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(text, "(")+strings.Count(text, "[") > 1000 {
			t.Skip("depth is bounded by the size of a template only")
		}
		vars := map[string]any{"name": "ada", "n": int64(2), "l": []any{int64(1), 2.5, "x"}, "m": map[string]any{"a": nil}}
		out, err := salscript.Fill(text, vars, true)
		if err == nil && !strings.Contains(text, "{") && out != text {
			t.Errorf("got %q of %q", out, text)
		}
	})
}
