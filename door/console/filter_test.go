package console_test

import (
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
)

// TestFiltersOfOneClickKeepTheOthers holds that what somebody typed is still asked for when
// a state is chosen beside it.
func TestFiltersOfOneClickKeepTheOthers(t *testing.T) {
	r := newArchiveRig(t, failedJob())
	r.ended(r.flow(nightly))
	do(r, admin, api.SagaApply, api.ApplySagaParams{Context: 7, Text: order})
	who := r.as(reader)
	for _, page := range []string{"flows", "jobs", "letters/list", "archive", "sagas/order"} {
		a := who.get(200, path("%s?text=shop&where=1+%%3D%%3D+1&cursor=", page))
		_, chips, _ := strings.Cut(a.text, `aria-label="Filters"`)
		chips, _, _ = strings.Cut(chips, "</nav>")
		links := strings.Split(chips, `<a href="`)[1:]
		if len(links) < 3 {
			t.Errorf("%s has %d filters of one click", page, len(links))
		}
		for _, link := range links {
			link, _, _ = strings.Cut(link, `"`)
			to, err := url.Parse(html.UnescapeString(link))
			if err != nil || to.Query().Get("text") != "shop" || !strings.Contains(to.Query().Get("where"), "1 == 1") {
				t.Errorf("%s: a filter of one click leads to %s", page, link)
			}
			who.get(200, html.UnescapeString(link))
		}
	}
}

// TestAConditionThatCannotBeReadStaysInItsField holds that it can be mended where it stands.
func TestAConditionThatCannotBeReadStaysInItsField(t *testing.T) {
	r := newArchiveRig(t, failedJob())
	r.ended(r.flow(nightly))
	do(r, admin, api.SagaApply, api.ApplySagaParams{Context: 7, Text: order})
	who := r.as(reader)
	for _, page := range []string{"flows", "jobs", "letters/list", "archive", "sagas/order"} {
		a := who.get(400, path("%s?text=shop&saga=&where=%s", page, url.QueryEscape(`flow. == "a`)))
		who.has(a, `value="flow. == &#34;a"`, `aria-invalid="true"`, `aria-describedby="about-where"`, `class="below fault" id="about-where"`)
		who.hasNot(a, "Nothing is like that", "data-live=")
	}
}
