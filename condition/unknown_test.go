package condition_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/rhai/value"
)

func TestAFieldThatIsNotThereIsSaidInPlainWords(t *testing.T) {
	body, err := value.ReadJSON(`{"ref": "main", "n": 7, "list": [1]}`)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"body.commit.id":   `there is no field "id": that of which it is to be is not there`,
		"body.ref.name":    `there is no field "name": that of which it is to be is a text`,
		"body.n.name":      `there is no field "name": that of which it is to be is a whole number`,
		"body.list[0].sum": `there is no field "sum": that of which it is to be is a whole number`,
	} {
		c, err := condition.Compile(text, "body")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Value(t.Context(), body); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "getter") {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
