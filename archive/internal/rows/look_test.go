package rows_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/internal/rows"
)

// table is a table whose rows are bodies, newest first; it counts what is read.
type table struct {
	bodies []string
	read   int
}

func (s *table) next() bool {
	s.read++
	return s.read <= len(s.bodies)
}

func (s *table) scan(dest ...any) error {
	n := s.read - 1
	for i, text := range map[int]string{1: "job", 2: fmt.Sprintf("job:1:%04d", len(s.bodies)-n)} {
		*dest[i].(*string) = text
	}
	*dest[3].(*int64) = int64(1000 + len(s.bodies) - n)
	if s.bodies[n] != "" {
		*dest[11].(*[]byte), *dest[12].(*[]byte) = []byte(s.bodies[n]), []byte{}
	}
	return nil
}

// TestWhatManyHaveIsFoundAmongTheNewest: no more is read than a page needs, and where that
// is not there within bounds, nothing is said.
func TestWhatManyHaveIsFoundAmongTheNewest(t *testing.T) {
	has, hasNot, large := `{"script":"Walnut tree"}`, `{"script":"almond"}`, `{"script":"`+strings.Repeat("x", 1<<19)+`"}`
	for _, tt := range []struct {
		name              string
		bodies            []string
		done              bool
		found, read, more int
	}{
		{"all have it", slices.Repeat([]string{has}, 5000), true, 10, 11, 1},
		{"half of all", slices.Repeat([]string{hasNot, has}, 5000), true, 10, 22, 1},
		{"few records, all looked through", append(slices.Repeat([]string{hasNot}, 100), has), true, 1, 102, 0},
		{"nobody has it", slices.Repeat([]string{hasNot}, 1000), false, 0, 1001, 0},
		{"one that was too large to be read", []string{has, "", has}, false, 0, 2, 0},
		{"more than is read at once", []string{large, large, large, has}, false, 0, 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := archive.Query{Context: 1, Text: "waln", Limit: 10}.Plan()
			if err != nil {
				t.Fatal(err)
			}
			s := &table{bodies: tt.bodies}
			page, done, err := rows.Look(&p, s.next, s.scan)
			if err != nil || done != tt.done || s.read != tt.read {
				t.Fatalf("got done %v, %v, and %d rows were read; want %v and %d", done, err, s.read, tt.done, tt.read)
			}
			if done && (len(page.Records) != tt.found || (page.Next != "") != (tt.more > 0)) {
				t.Errorf("got %d records and %q, want %d", len(page.Records), page.Next, tt.found)
			}
			for _, r := range page.Records {
				if r.Body != nil {
					t.Error("got a body in a list of heads")
				}
			}
		})
	}
}
