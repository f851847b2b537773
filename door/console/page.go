package console

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// page is what the frame shows, and the page in it.
type page struct {
	Title string
	// Noun is the entry of the rail that the page belongs to.
	Noun     string
	Crumbs   []crumb
	Sentence *sentence // nil: there is nothing to say
	// Command does the same in a shell.
	Command string
	// Follow is what of it may change; nil: nothing does. The page is mounted by live then.
	Follow *follow
	Body   body
	// Breaks is what the page is of, where a node for development has faults of that.
	Breaks Target

	// The rest is filled in for every page.
	Here     string    // the page's own address
	Held     *sentence // nil: nothing stops the whole context
	Live     string    // where it is followed; "": nowhere
	Theme    string
	SignedIn bool
	Actor    domain.ActorID
	Node     nodeChip
	Context  domain.Tenant // ID 0: the page is of none
	Contexts []domain.Tenant
	Rail     []railEntry
	Flash    flash
	Faults   []action // on a node for development
	Assets   string
}

// body is what a page shows of its own, below the sentence.
type body interface{ content() templ.Component }

// topped is a body with something above the sentence: tabs of pages beside each other, which must
// not move from one to the next.
type topped interface{ above() templ.Component }

// crumb is a step of the way to a page.
type crumb struct{ Text, Link string }

// sentence says how things stand, and what can be done.
type sentence struct {
	State state
	Text  string
	// Why says more, in somebody else's words.
	Why   string
	Since moment
	// Ended says that it stands like this for good: then Since is when it ended.
	Ended bool
	// Next is what will happen by itself, "" where that is nothing.
	Next    string
	Actions []action
}

// nodeChip says which node answers, and what its board survives.
type nodeChip struct {
	Name, Durability string
	// Away is why something that the node stands on is not there; "": all is.
	Away string
}

func chipOf(name string, info *api.Info) nodeChip {
	return nodeChip{name, info.Durability, cmp.Or(info.BoardError, info.StreamError, info.ArchiveError)}
}

// railEntry is a link of the rail at the left.
type railEntry struct {
	Name, Link string
	Here       bool
}

// contextsMost bounds the contexts that the switch offers.
const contextsMost = 200

// complete fills in what every page has.
func (v *visit) complete(p *page) error {
	p.Here, p.Theme, p.Assets = v.r.URL.RequestURI(), theme(v.r), assetPath
	if _, failed := p.Body.(failure); failed && v.r.Method != "GET" {
		p.Here = Path
	}
	if v.refusedAt != "" {
		p.Here = v.refusedAt
	}
	p.Actor, p.Node.Name = v.who.Actor, v.console.cfg.Node
	if !p.SignedIn {
		return nil
	}
	if p.Follow != nil {
		p.Live = livePath + query("page", p.Here)
	}
	p.Flash = v.console.sessions.said(v.console.secretOf(v.r), v.r.FormValue("said"))
	if v.refusal != nil {
		p.Flash = flash{Text: sentenceOf(v.refusal), Unwell: true}
	}
	p.Context, p.Faults = v.tenant, v.faultActions(p.Breaks)
	p.Rail = v.rail(p.Noun)
	info, err := v.info()
	if err != nil {
		return err
	}
	p.Node = chipOf(v.console.cfg.Node, &info)
	list, err := call(v, api.ContextList, api.ListContextsParams{Limit: contextsMost})
	p.Contexts = slices.DeleteFunc(list.Contexts, func(c domain.Tenant) bool { return !v.seesInto(c) })
	return err
}

// info says what node this is, and what it stands on: it is asked once for a page.
func (v *visit) info() (api.Info, error) {
	if v.node != nil {
		return *v.node, nil
	}
	info, err := call(v, api.NodeInfo, api.NodeInfoParams{})
	if err == nil {
		v.node = &info
	}
	if info.ArchiveError != "" {
		v.console.silence.note(v.now)
	}
	return info, err
}

// rail are the nouns, in the order in which people come for them.
func (v *visit) rail(here string) (entries []railEntry) {
	if v.tenant.ID == 0 {
		return nil
	}
	for _, e := range [...]struct{ name, path string }{{"Overview", ""}, {"Flows", "flows"}, {"Jobs", "jobs"}, {"Sagas", "sagas"},
		{"Schedules", "schedules"}, {"Blueprints", "blueprints"},
		{"Effects", "effects"}, {"Dead letters", "letters"}, {"Messages", "messages"},
		{"Archive", "archive"}, {"Operate", "operate"}, {"Rights", "rights"}} {
		entries = append(entries, railEntry{e.name, v.path("%s", e.path), e.name == here})
	}
	return entries
}

// path is a page's within the context that one looks at. Its parts are numbers and words
// of ours; a name of somebody else's is a query parameter.
func (v *visit) path(format string, args ...any) string {
	return contextPath(v.tenant) + fmt.Sprintf(format, args...)
}

// contextPath is where the pages of a context begin.
func contextPath(t domain.Tenant) string { return Path + "c/" + contextName(t) + "/" }

// contextName is what paths and commands call a context.
func contextName(t domain.Tenant) string {
	return cmp.Or(t.Alias, strconv.FormatUint(uint64(t.ID), 10))
}

// command is a command line for the context that one looks at. What somebody else wrote
// in it is quoted, for people paste it into a shell.
func (v *visit) command(words ...string) string {
	for i, w := range words {
		words[i] = quoted(w)
	}
	line := "ramet " + strings.Join(words, " ")
	if v.tenant.ID > 1 {
		line += " --context " + contextName(v.tenant)
	}
	return line
}

// commandOf is the command line of the view of a thing that a tab is; `NOUN show` where there is none of its own.
func (v *visit) commandOf(noun, tab string, ofTabs map[string][]string, thing ...string) string {
	words, own := ofTabs[tab]
	if !own {
		words = []string{noun, "show"}
	}
	return v.command(slices.Concat(words, thing)...)
}

// quoted is a word as a shell takes it for itself alone. What acts in a terminal is left
// out: nobody pastes it to have that.
func quoted(word string) string {
	word = domain.PlainText(word, 500)
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// maxPlain bounds a text of somebody else's in a page's own lines, in bytes.
const maxPlain = 2000

// longText is from how many bytes on a sentence is shown folded: on a phone it would leave no
// room for what can be done.
const longText = 320

// plain is a text of somebody else's that shows what it has, and acts on nothing: what
// would turn the direction of writing, or cannot be seen, is a question mark.
func plain(text string) string { return domain.PlainText(text, maxPlain) }

// linesOf are the lines of a text of somebody else's, each as [plain] has it.
func linesOf(text string) (lines []string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		lines = append(lines, logLine{Spans: ansi(domain.CutText(line, maxLine))}.text())
	}
	return lines
}

// plural is a count with its noun: "1 job", "3 jobs".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
