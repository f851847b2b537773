package console

import (
	"regexp"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

func (c *Console) mountBans() {
	c.live("GET operate/bans", (*visit).bansPage)
	c.inContext("POST operate/bans/set", (*visit).setBan)
	c.inContext("POST operate/bans/lift", (*visit).liftBan)
}

// banKinds are what can be held up within a context, by the words of forms.
var banKinds = []string{string(domain.BanBlueprint), string(domain.BanType), string(domain.BanFlow), string(domain.BanSaga), string(domain.BanEffect),
	string(domain.BanRoutine), string(domain.BanContext)}

// banLengths are for how long.
var banLengths = []struct {
	name string
	d    time.Duration
}{{"until it is lifted", 0}, {"1 hour", time.Hour}, {"8 hours", 8 * time.Hour}, {"1 day", 24 * time.Hour}, {"1 week", 7 * 24 * time.Hour}}

func (v *visit) bansPage() error {
	list, err := call(v, api.BanList, api.ListBansParams{Context: v.tenant.ID})
	if err != nil {
		return err
	}
	t := table{Name: "Bans", Head: []column{{"On", "name"}, {"What", "name"}, {"Holds up", ""}, {"Reason", "why"}, {"By", ""}, {"Since", ""}, {"Until",
		""}, {"Do", ""}}}
	for i := range list.Bans {
		t.Rows = append(t.Rows, v.banRow(&list.Bans[i]))
	}
	b := &listBody{Tables: []table{t}, None: "Nothing is held up in context " + contextName(v.tenant) + ".", Make: v.command("ban", "blueprint",
		"nightly", "--reason", "the target is down")}
	s := &sentence{State: state{"free", succeeded}, Text: "Nothing is held up."}
	if n := len(list.Bans); n > 0 {
		s = &sentence{State: state{"held", held}, Text: verbIs(n, "thing") + " held up: what runs goes on, what has not begun waits."}
	}
	if v.may(api.BanSet.Operation) {
		lengths := []string{}
		for _, l := range banLengths {
			lengths = append(lengths, l.name)
		}
		s.Actions = []action{{Name: "Hold up", Verb: "Hold it up", Post: v.path("operate/bans/set"),
			Inputs: []formField{{Name: "kind", Label: "What", Options: banKinds}, typed("name", "Its name or number; none for the context", "", "nightly"),
				{Name: "level", Label: "How far", Options: []string{string(domain.BanPick), string(domain.BanCreate), string(domain.BanSubmit),
					string(domain.BanExec), string(domain.BanOccupy)}},
				{Name: "for", Label: "For how long", Options: lengths}, whyHeld},
			Will: "What runs goes on; what has not begun waits. pick: nothing is begun; create: flows make no jobs either; submit: nothing is taken in either. " +
				"exec and occupy are for routines.",
			Command: v.command("ban", "blueprint", "NAME", "--reason", "WHY")}}
	}
	return v.operatePage("Bans", s, []string{"ban", "list"}, b)
}

// instanceName is the name of one of several instances of a routine: the routine's, then which.
var instanceName = regexp.MustCompile(`^(.+)-\d+\.\d+$`)

func (v *visit) banRow(ban *domain.Ban) row {
	name := entry{Text: ban.Name}
	switch ban.Kind {
	case domain.BanBlueprint:
		name.Link = v.blueprintLink(ban.Name, 0)
	case domain.BanFlow:
		name.Link = v.path("flows/%s", urlEscape(ban.Name))
	case domain.BanEffect:
		name.Link = v.path("effect") + with("name", ban.Name)
	case domain.BanRoutine:
		if instance := instanceName.FindStringSubmatch(ban.Name); instance != nil {
			name.Link = v.routineLink(instance[1])
		} else if ban.Context != 0 { // else it is what the nodes do for all
			name.Link = v.routineLink(ban.Name)
		}
	case domain.BanType:
		name.Link = v.path("jobs") + with("type", ban.Name)
	}
	lift := entry{}
	if op := api.BanLift.Operation; v.may(op) && ban.Context == v.tenant.ID {
		lift.Actions = []action{{Name: "Lift", Verb: "Lift 1 ban", Post: v.path("operate/bans/lift") + with("kind", string(ban.Kind), "name", ban.Name),
			Will: "What it holds up goes on, and begins as runners have room.", Command: "ramet ban lift " + quotedScope(ban.BanScope)}}
	}
	where := string(ban.Kind)
	if ban.Context == 0 {
		where += ", everywhere"
	}
	return row{Link: "", Cells: []entry{words(where), name, words(string(ban.Level)), words(ban.Reason), words(actorText(ban.By)), when(v.past(ban.AtMs)),
		when(v.at(ban.UntilMs)), lift}}
}

// stopped says that all of the context is held up: on each of its pages, for nothing else that
// stands there explains why nothing is begun. It is nil where nothing does, or who looks may
// not know.
func (v *visit) stopped() *sentence {
	if v.tenant.ID == 0 || !v.may(api.BanList.Operation) {
		return nil
	}
	list, err := call(v, api.BanList, api.ListBansParams{Context: v.tenant.ID})
	if err != nil {
		return nil // the page itself says what is away
	}
	for i := range list.Bans {
		b := &list.Bans[i]
		if b.Kind != domain.BanContext && b.Kind != domain.BanAll {
			continue
		}
		return v.stoppedBy(b)
	}
	return nil
}

// stops is what a ban on a whole context holds up, by its level.
var stops = map[domain.BanLevel]string{
	domain.BanPick:   "what runs goes on, nothing more is begun, and what comes waits",
	domain.BanCreate: "what runs goes on, nothing more is begun, and flows make no more jobs",
	domain.BanSubmit: "what runs goes on, nothing more is begun, and nothing is taken in",
}

func (v *visit) stoppedBy(b *domain.Ban) *sentence {
	name := contextName(v.tenant)
	s := &sentence{State: state{"held", held}, Text: "Context " + name + " is stopped: " + stops[b.Level] + ".", Since: v.past(b.AtMs),
		Why: upper(b.Reason) + " (" + actorText(b.By) + ")"}
	if b.Kind == domain.BanAll {
		s.Text = "Everything is stopped, in each context: " + stops[b.Level] + "."
	}
	if b.UntilMs != 0 {
		s.Next = "ends by itself in " + v.at(b.UntilMs).Ago
	}
	mine := b.Kind == domain.BanContext && b.Context == v.tenant.ID
	switch operators := b.By == domain.Operator || !mine; {
	case mine && v.may(api.BanLift.Operation) && (!operators || v.mayOnNode(api.BanLiftAll.Operation)):
		s.Actions = []action{{Name: "Let it go on", Verb: "Lift the ban", Post: v.path("operate/bans/lift") + with("kind", string(b.Kind)),
			Fields: []field{{"next", v.r.URL.RequestURI()}}, Will: "What it holds up goes on, and begins as runners have room.",
			Command: "ramet ban lift " + quotedScope(b.BanScope)}}
	case operators:
		s.Why += "; the operator lifts it: ramet ban lift " + quotedScope(b.BanScope)
	default:
		s.Why += "; an admin lifts it: ramet ban lift " + quotedScope(b.BanScope)
	}
	return s
}

// quotedScope is a scope as it is typed, whose name is safe to paste.
func quotedScope(s domain.BanScope) string {
	if s.Name != "" {
		s.Name = quoted(s.Name)
	}
	return s.Words()
}

func (v *visit) setBan() error {
	form := v.r.PostFormValue
	in := api.BanInput{BanScope: domain.BanScope{Kind: domain.BanKind(form("kind")), Context: v.tenant.ID, Name: form("name")},
		Level: domain.BanLevel(form("level")), Reason: form("reason")}
	for _, l := range banLengths {
		if l.name == form("for") && l.d != 0 {
			in.UntilMs = v.now.Add(l.d).UnixMilli()
		}
	}
	_, err := call(v, api.BanSet, api.BanParams{In: v.tenant.ID, BanInput: in})
	return v.did(v.path("operate/bans"), "It is held up: "+v.bannedText(in.BanScope)+"."+v.notYetThere(in.BanScope), err)
}

// bannedText is a scope in a sentence.
func (v *visit) bannedText(s domain.BanScope) string {
	if s.Kind == domain.BanContext {
		return "context " + contextName(v.tenant)
	}
	return string(s.Kind) + " " + domain.PlainText(s.Name, 300)
}

// notYetThere says of a ban that it holds up what nobody knows: a name may be wrong. "" where it is there.
func (v *visit) notYetThere(s domain.BanScope) string {
	var err error
	switch s.Kind {
	case domain.BanBlueprint:
		_, err = call(v, api.BlueprintShow, api.BlueprintParams{Context: v.tenant.ID, Name: s.Name})
	case domain.BanRoutine:
		name := s.Name
		if instance := instanceName.FindStringSubmatch(name); instance != nil {
			name = instance[1]
		}
		_, err = call(v, api.RoutineShow, api.RoutineParams{Context: v.tenant.ID, Name: name})
	}
	if notThere(err) {
		return " There is no " + string(s.Kind) + " of that name now: look whether it is the right one."
	}
	return ""
}

func (v *visit) liftBan() error {
	scope := domain.BanScope{Kind: domain.BanKind(v.r.FormValue("kind")), Context: v.tenant.ID, Name: v.r.FormValue("name")}
	_, err := call(v, api.BanLift, api.LiftParams{In: v.tenant.ID, BanScope: scope})
	to := v.path("operate/bans")
	if v.r.PostFormValue("next") != "" {
		to = next(v.r.PostFormValue("next"))
	}
	return v.did(to, "The ban is lifted: what it held up goes on.", err)
}

// whyHeld asks why something is held up: it is what those read who wait.
var whyHeld = formField{Name: "reason", Label: "Why", Hint: "the target is down", Needed: true}
