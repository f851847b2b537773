package syntax_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/rhai/syntax"
)

// bigScript repeats ordinary code up to about a megabyte.
func bigScript() string {
	const part = `
// Sorts what was counted and tells about it.
fn tell_NN(items, limit) {
    let total = 0;
    let names = [];
    for (item, i) in items {
        if item.count > limit && !(item.name in names) {
            total += item.count * 2 - i % 7;
            names.push(item.name.to_upper());
        } else if item.count == 0 {
            continue;
        } else {
            total -= 1;
        }
    }
    let text = ` + "`found ${names.len} of ${items.len()}: ${total}`" + `;
    switch total {
        0 => "none",
        1..10 | 20..=30 if limit > 3 => "few: " + text,
        _ => #{ text: text, total: total, ok: true, list: [1, 2.5, 'x', ()] }
    }
}
let list_NN = [#{ name: "a", count: 3 }, #{ name: "b", count: 12 }];
let big_NN = list_NN.filter(|x| x.count > 5).map(|x| x.count * 0x10);
while big_NN.len() < 10 { big_NN.push(big_NN[0] ?? 1); }
try { tell_NN(list_NN, 2); } catch (e) { print(e.message); }
`
	var b strings.Builder
	for i := range 1000 {
		b.WriteString(strings.ReplaceAll(part, "NN", strings.Repeat("i", i%7)+string(rune('a'+i%26))+strconv.Itoa(i)))
	}
	return b.String()
}

func BenchmarkParse(b *testing.B) {
	text := bigScript()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := syntax.Parse(text, "", nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTokens(b *testing.B) {
	text := bigScript()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		syntax.Tokens(text)
	}
}
