package console

import (
	"cmp"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file has who may do what: the members of a context, contexts, actors, tokens, and
// what the audit log says.

func (c *Console) mountRights() {
	c.inContext("GET rights", (*visit).membersPage)
	c.inContext("POST rights/revoke", (*visit).revokeRoleOf)
	c.mountRightsForms()
	c.mountSecrets()
	c.inContext("GET rights/settings", (*visit).settingsPage)
	c.inContext("GET rights/contexts", (*visit).contextsPage)
	c.inContext("GET rights/actors", (*visit).actorsPage)
	c.inContext("GET rights/tokens", (*visit).tokensPage)
	c.inContext("POST rights/tokens/revoke", (*visit).revokeToken)
	c.inContext("GET rights/audit", (*visit).auditPage)
}

// rightsPage renders a list below Rights, whose tabs are those that who looks may see.
func (v *visit) rightsPage(name string, s *sentence, command string, b *listBody) error {
	b.Title = name
	add := func(may bool, name2, path string) {
		if may {
			b.Tabs = append(b.Tabs, tab{name2, v.path("%s", path), name2 == name})
		}
	}
	add(true, "Members", "rights")
	add(v.may(api.SecretList.Operation), "Secrets", "rights/secrets")
	add(true, "Settings", "rights/settings")
	add(true, "Contexts", "rights/contexts")
	add(v.mayOnNode(api.ActorList.Operation), "Actors", "rights/actors")
	add(true, "Tokens", "rights/tokens")
	add(v.may(api.AuditLog.Operation), "Audit log", "rights/audit")
	v.render(nethttp.StatusOK, page{Title: name, Noun: "Rights", Command: command, Sentence: s, Body: b,
		Crumbs: []crumb{{"Rights", v.path("rights")}, {name, ""}}})
	return nil
}

// roles are those that can be given in a context.
var roles = []string{string(domain.Reader), string(domain.Executor), string(domain.Admin)}

// membersPage shows who has a role in the context.
func (v *visit) membersPage() error {
	shown, err := call(v, api.ContextShow, api.ContextParams{Context: v.tenant.ID})
	if err != nil {
		return err
	}
	t := table{Name: "Members", Head: []column{{"Actor", "name"}, {"Role", ""}, {"May", "full"}, {"Do", ""}}}
	executors := "run its jobs, and read"
	if shown.ExecutorsMaySubmit {
		executors = "submit and steer work, run its jobs, and read"
	}
	for _, r := range [...]struct {
		role    domain.ContextRole
		members []domain.ActorID
		may     string
	}{{domain.Admin, shown.Admins, "do everything here, and give roles to others"}, {domain.Executor, shown.Executors, executors}, {domain.Reader,
		shown.Readers, "read, but for the values of environments"}} {
		for _, id := range r.members {
			t.Rows = append(t.Rows, row{Link: "", Cells: []entry{words(actorText(id)), words(string(r.role)), words(r.may), {Actions: v.revokeRole(id, r.role)}}})
		}
	}
	s := &sentence{State: state{"members", succeeded}, Text: "You are " + v.roleHere(&shown.Tenant) + " in context " + contextName(v.tenant) + "."}
	intro := ""
	if hooks := shown.On.Names(); hooks != "" {
		intro = "Flows that have no hooks of their own call those of the context: " + hooks + "."
	}
	return v.rightsPage("Members", s, "ramet context show "+contextName(v.tenant), &listBody{Intro: intro, Tables: []table{t}, None: "Nobody has a role here.",
		Links: v.toMake(v.may(api.ContextGrant.Operation), "Give a role", "rights/new")})
}

// roleHere says what who looks is in a context.
func (v *visit) roleHere(t *domain.Tenant) string {
	switch {
	case slices.Contains(t.Admins, v.who.Actor):
		return "an admin"
	case slices.Contains(t.Executors, v.who.Actor):
		return "an executor"
	case slices.Contains(t.Readers, v.who.Actor):
		return "a reader"
	}
	return "no member"
}

func (v *visit) revokeRole(id domain.ActorID, role domain.ContextRole) []action {
	if !v.may(api.ContextRevoke.Operation) {
		return nil
	}
	will := actorText(id) + " is no " + string(role) + " any more, at every node within a second. Its sessions and tokens stay, with what else it may."
	if id == v.who.Actor {
		will += " That is you."
	}
	return []action{{Name: "Revoke", Verb: "Revoke 1 role", Post: v.path("rights/revoke"), Fields: []field{{"actor", strconv.Itoa(int(id))}, {"role",
		string(role)}}, Will: upper(will),
		Command: "ramet context revoke " + contextName(v.tenant) + " " + strconv.Itoa(int(id)) + " --role " + string(role)}}
}

// revokeRoleOf takes a role from an actor.
func (v *visit) revokeRoleOf() error {
	to := v.path("rights")
	id, err := v.numberIn("actor")
	if err != nil {
		return v.did(to, "", err)
	}
	p := api.GrantParams{Context: v.tenant.ID, Actor: domain.ActorID(id), Role: domain.ContextRole(v.r.PostFormValue("role"))}
	if p.Role == "" { // which would be all of them
		return v.did(to, "", domain.Invalidf("no role was named"))
	}
	done, err := call(v, api.ContextRevoke, p)
	said := upper(actorText(p.Actor)) + " is no " + domain.PlainText(string(p.Role), 20) + " any more."
	if err == nil && !done.Changed {
		said = "It was so already."
	}
	return v.did(to, said, err)
}

// seesInto reports whether who looks may look at what is in a context: the operator knows of all there are.
func (v *visit) seesInto(c domain.Tenant) bool {
	return len(rolesIn(c, v.who.Actor)) > 0 || v.who.Permits(c, api.JobList.Right, false, api.JobList.Group())
}

// rolesIn are the roles of an actor in a context.
func rolesIn(c domain.Tenant, id domain.ActorID) (roles []string) {
	for _, r := range [...]struct {
		name string
		who  []domain.ActorID
	}{{"admin", c.Admins}, {"executor", c.Executors}, {"reader", c.Readers}} {
		if slices.Contains(r.who, id) {
			roles = append(roles, r.name)
		}
	}
	return roles
}

// actorsNamed is how many actors are named in one place.
const actorsNamed = 4

// actorsText names actors by their numbers.
func actorsText(ids []domain.ActorID) string {
	var names []string
	for _, id := range ids[:min(len(ids), actorsNamed)] {
		names = append(names, strconv.Itoa(int(id)))
	}
	text := "actor " + strings.Join(names, ", ")
	switch {
	case len(ids) == 0:
		return ""
	case len(ids) > actorsNamed:
		return "actors " + strings.Join(names, ", ") + " and " + strconv.Itoa(len(ids)-actorsNamed) + " more"
	case len(ids) > 1:
		return "actors " + strings.Join(names, ", ")
	}
	return text
}

func (v *visit) contextsPage() error {
	q := v.r.URL.Query()
	list, err := call(v, api.ContextList, api.ListContextsParams{Cursor: q.Get("cursor"), Limit: pageRows})
	if err != nil {
		return err
	}
	t := table{Name: "Contexts", Head: []column{{"Context", "name"}, {"Number", "num"}, {"You are", ""}, {"Admins", ""}, {"Executors", ""}, {"Readers", ""},
		{"Runs at most", "num"}, {"Scripts are", ""}, {"Archives", ""}, {"Made", ""}}}
	for _, c := range list.Contexts {
		link := Path + "c/" + contextName(c) + "/rights"
		name := linkTo(contextName(c), link)
		if !v.seesInto(c) {
			link, name = "", words(contextName(c))
		}
		t.Rows = append(t.Rows, row{Link: link, Cells: []entry{name, number(int64(c.ID)), words(strings.Join(rolesIn(c, v.who.Actor), ", ")),
			words(actorsText(c.Admins)), words(actorsText(c.Executors)), words(actorsText(c.Readers)),
			countOf(int64(c.MaxRunning)), words(cmp.Or(string(c.Isolation), "as the node does")), words(cmp.Or(string(c.Archives),
				"all")), when(v.past(int64(c.CreatedAt) * 1000))}})
	}
	intro := "The contexts in which you have a role."
	if v.who.Actor == domain.Operator {
		intro = "All contexts. What is in one is for those who have a role there; you give yourself one with `ramet context grant`."
	}
	return v.rightsPage("Contexts", nil, "ramet context list", &listBody{Tables: []table{t}, Pager: v.pagerOf("rights/contexts", q, list.Next),
		Intro: intro, None: "You have a role in no context.",
		Links: v.toMake(v.mayOnNode(api.ContextCreate.Operation), "New context", "rights/contexts/new")})
}

func (v *visit) actorsPage() error {
	q := v.r.URL.Query()
	list, err := call(v, api.ActorList, api.ListActorsParams{Cursor: q.Get("cursor"), Limit: pageRows})
	if err != nil {
		return err
	}
	t := table{Name: "Actors", Head: []column{{"Actor", "name"}, {"Public key", "id"}, {"Reached at", "why"}, {"Made", ""}, {"Tokens", ""}}}
	for _, a := range list.Actors {
		var at []string
		for _, address := range a.Address {
			at = append(at, string(address))
		}
		t.Rows = append(t.Rows, row{Link: "", Cells: []entry{words(actorText(a.ID)), words(a.Pubkey), words(strings.Join(at, ", ")),
			when(v.past(int64(a.CreatedAt) * 1000)),
			linkTo("its tokens", v.path("rights/tokens?actor=%d", a.ID))}})
	}
	return v.rightsPage("Actors", nil, "ramet actor list", &listBody{Tables: []table{t}, Pager: v.pagerOf("rights/actors", q, list.Next),
		Links: v.toMake(v.mayOnNode(api.ActorCreate.Operation), "New actor", "rights/actors/new"),
		None:  "There is no actor.", Make: "ramet actor new"})
}

// whose is the actor that the address names; 0 is who looks.
func (v *visit) whose() domain.ActorID {
	id, _ := strconv.ParseUint(v.r.FormValue("actor"), 10, 32) // what is no number is one's own
	return domain.ActorID(id)
}

func (v *visit) tokensPage() error {
	actor := v.whose()
	list, err := call(v, api.TokenList, api.ListTokensParams{Actor: actor})
	if err != nil {
		return err
	}
	t := table{Name: "Tokens", Head: []column{{"Token", "name"}, {"State", ""}, {"For", "why"}, {"Issued", ""}, {"Used", ""}, {"Ends", ""}, {"Do", ""}}}
	good := 0
	for i := range list.Tokens {
		k := &list.Tokens[i]
		st := state{"good", succeeded}
		switch {
		case k.Revoked:
			st = state{"revoked", skipped}
		case int64(k.ExpiresAt)*1000 <= v.now.UnixMilli():
			st = state{"over", skipped}
		default:
			good++
		}
		revoke := entry{}
		if st.Word == "good" && v.who.Operates(api.TokenRevoke.Right, api.TokenRevoke.Group()) {
			revoke.Actions = []action{{Name: "Revoke", Verb: "Revoke 1 token", Post: v.path("rights/tokens/revoke"), Fields: []field{{"actor",
				strconv.Itoa(int(k.Actor))}, {"id", k.ID}},
				Will:    "Whoever shows this token is refused at every node within a second; sessions that began with it end. This cannot be undone.",
				Command: "ramet token revoke " + quoted(k.ID)}}
		}
		t.Rows = append(t.Rows, row{Link: "", Cells: []entry{words(cmp.Or(k.Name, shortID(k.ID))), chip(st), words(scopeText(&k.Scope)),
			when(v.past(int64(k.IssuedAt) * 1000)), when(v.past(k.SeenMs)), when(v.at(int64(k.ExpiresAt) * 1000)), revoke}})
	}
	whose := "yours"
	if actor != 0 && actor != v.who.Actor {
		whose = actorText(actor)
	}
	b := &listBody{Tables: []table{t}, None: "This board knows no token of " + whose + ".", Links: v.toMake(true, "New token", "rights/tokens/new"),
		Make: "ramet token --key alice.key --audience " + v.console.cfg.Node + " --for 12h --name laptop"}
	if n := len(list.Tokens); n > 0 {
		b.Intro = "Of the tokens of " + whose + " that this board knows, " + strconv.Itoa(good) + " of " + strconv.Itoa(n) + " are good."
	}
	command := "ramet token list"
	if actor != 0 {
		command += " --actor " + strconv.Itoa(int(actor))
	}
	return v.rightsPage("Tokens", nil, command, b)
}

// scopeText says how far a token goes.
func scopeText(s *domain.Scope) string {
	var parts []string
	if s.ReadOnly {
		parts = append(parts, "only to read")
	}
	for _, c := range s.Contexts {
		parts = append(parts, "context "+strconv.Itoa(int(c)))
	}
	for _, g := range s.Groups {
		parts = append(parts, g+"s")
	}
	return cmp.Or(strings.Join(parts, ", "), "all that its actor may")
}

func (v *visit) revokeToken() error {
	id, _ := strconv.ParseUint(v.r.PostFormValue("actor"), 10, 32)
	p := api.RevokeTokenParams{Actor: domain.ActorID(id), ID: v.r.PostFormValue("id")}
	to := v.path("rights/tokens")
	if p.ID == "" { // which must not become all of them
		return v.did(to, "", domain.Invalidf("no token was named"))
	}
	if p.Actor != 0 && p.Actor != v.who.Actor {
		to += "?actor=" + strconv.Itoa(int(p.Actor))
	}
	_, err := call(v, api.TokenRevoke, p)
	return v.did(to, "The token is revoked.", err)
}

// auditPage shows what was done by hand, and what was denied.
func (v *visit) auditPage() error {
	q := v.r.URL.Query()
	f := api.AuditLogFilter{Outcome: domain.AuditOutcome(q.Get("outcome")), Actor: v.whose(), Cursor: q.Get("cursor"), Limit: pageRows}
	ofNode := q.Get("of") == "node" && v.mayOnNode(api.AuditLogAll.Operation)
	var lines api.AuditLines
	var err error
	if ofNode {
		lines, err = call(v, api.AuditLogAll, api.NodeAuditLogParams{AuditLogFilter: f})
	} else {
		lines, err = call(v, api.AuditLog, api.AuditLogParams{Context: v.tenant.ID, AuditLogFilter: f})
	}
	if err != nil {
		return err
	}
	t := table{Name: "Audit log", Head: []column{{"When", ""}, {"Who", ""}, {"Outcome", ""}, {"Did", "name"}, {"To", "id"}, {"Detail", "why"}, {"Times", "num"}}}
	denied := 0
	for i := range lines.Entries {
		e := &lines.Entries[i]
		st := state{string(e.Outcome), succeeded}
		if e.Outcome != domain.AuditDone {
			st.Class = errored
			denied++
		}
		t.Rows = append(t.Rows, row{Link: "", Cells: []entry{when(v.past(e.AtMs)), words(cmp.Or(actorText(e.Actor), "nobody known")), chip(st),
			words(strings.ReplaceAll(e.Verb, "_", " ")),
			{Text: e.Object, Link: v.objectLink(e.Object)}, words(e.Detail), countOf(int64(e.Count))}})
	}
	b := &listBody{Tables: []table{t}, Filtered: filtered(q), All: v.path("rights/audit"), Pager: v.pagerOf("rights/audit", q, lines.Next),
		Fields: v.fields(typed("actor", "Actor", q.Get("actor"), "20")),
		None:   "Nothing was done by hand yet, and nothing denied."}
	for _, c := range [...]struct{ name, outcome string }{{"All", ""}, {"Done", string(domain.AuditDone)}, {"Denied", string(domain.AuditDenied)}} {
		b.Filters = append(b.Filters, v.choice("rights/audit", c.name, "outcome", c.outcome))
	}
	if v.mayOnNode(api.AuditLogAll.Operation) {
		b.Filters = append(b.Filters, v.choice("rights/audit", "Of no context", "of", "node"))
	}
	command := []string{"audit", "log"}
	if f.Actor != 0 {
		command = append(command, "--actor", strconv.Itoa(int(f.Actor)))
	}
	if f.Outcome == domain.AuditDenied {
		command = append(command, "--denied")
	}
	if ofNode {
		command = append(command, "--of-node")
	}
	var s *sentence
	if denied > 0 && f.Outcome == "" {
		s = &sentence{State: state{"denied", failed}, Text: "Of " + plural(len(t.Rows), "act") + ", " + counted(denied, "was", "were") + " denied."}
	}
	return v.rightsPage("Audit log", s, v.command(command...), b)
}

// objectLink is where the thing of a line of the audit log is shown; "" where that is
// nowhere.
func (v *visit) objectLink(object string) string {
	if link := v.jobLink(object); link != "" {
		return link
	}
	if id, err := domain.ParseFlowKey(object); err == nil {
		return v.path("flows/%d", id)
	}
	kind, name, _ := strings.Cut(object, ":")
	switch kind {
	case "saga":
		if name != "" {
			return v.sagaPath(name)
		}
	case "schedule", "blueprint", "effect", "routine", "webhook", "listener":
		if name != "" {
			return v.path("%s", kind) + with("name", name)
		}
	}
	return ""
}
