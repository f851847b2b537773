package console_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
)

// said is a script of words that logs n lines, from 1 on, and fails.
func said(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "say line %d of it\n", i+1)
	}
	return b.String() + "err it broke\nfail"
}

// What went wrong says at its end why: a long log is shown from there.
func TestTheEndOfALongLogIsShownOfWhatWentWrong(t *testing.T) {
	r := newRig(t)
	id := r.flow("name: long\nsteps:\n- {name: talk, script_type: words, script: \"" + strings.ReplaceAll(said(1200), "\n", "\\n") + "\"}\n")
	r.ended(id)
	b := r.as(admin)
	a := b.get(200, path("flows/%d", id))
	b.has(a, "line 1200 of it", "Step talk failed: it broke")
	b.hasNot(a, "line 999 of it")

	p := r.job(said(2500))
	r.jobEnded(p)
	a = b.get(200, path("jobs/10/%d", p.ID))
	b.has(a, `id="L2501"`, "it broke", "line 502 of it", "data-end",
		`/jobs/10/2?from=0#L501" data-earlier>earlier lines</a>`) // where one was
	b.hasNot(a, "line 501 of it", "later lines")
	a = b.get(200, path("jobs/10/%d?from=0", p.ID))
	b.has(a, "line 1 of it", `id="L2000"`, "later lines")
	b.hasNot(a, "it broke", "data-end")
}

// TestAPartOfAnAttemptIsNotTakenForAllOfIt: a page has the end of one attempt and the beginning of another.
func TestAPartOfAnAttemptIsNotTakenForAllOfIt(t *testing.T) {
	r := newRig(t)
	p := r.job(said(1200))
	r.jobEnded(p)
	do(r, admin, api.JobRetry, p)
	r.jobEnded(p)
	b := r.as(admin)
	parts := regexp.MustCompile(`attempt (\d)</b> <span class="soft">([^<]*)`)
	said := func(from string) (list []string) {
		for _, m := range parts.FindAllStringSubmatch(b.get(200, path("jobs/10/%d%s", p.ID, from)).text, -1) {
			list = append(list, m[1]+": "+m[2])
		}
		return list
	}
	last, first := said(""), said("?from=0")
	if len(last) != 2 || !strings.HasSuffix(last[0], "of more") || strings.HasSuffix(last[1], "of more") {
		t.Errorf("the last page: got %q", last)
	}
	if len(first) != 2 || strings.HasSuffix(first[0], "of more") || !strings.HasSuffix(first[1], "of more") {
		t.Errorf("the first page: got %q", first)
	}
}
