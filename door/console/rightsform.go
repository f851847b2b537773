package console

import (
	"cmp"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// This file has the forms below Rights: to give a role, and to make a context, an actor and
// a token.

func (c *Console) mountRightsForms() {
	c.mountMake("rights/new", (*visit).roleMake)
	c.mountMake("rights/contexts/new", (*visit).contextMake)
	c.mountMake("rights/actors/new", (*visit).actorMake)
	c.mountMake("rights/tokens/new", (*visit).tokenMake)
}

// field is a field of a form with what was typed into it.
func (v *visit) field(name, label, hint, help string) formField {
	return formField{Name: name, Label: label, Hint: hint, Help: help, Value: v.r.FormValue(name)}
}

// chosenField is a field of which one of several is chosen.
func (v *visit) chosenField(name, label, help string, options ...string) formField {
	f := v.field(name, label, "", help)
	f.Options = options
	return f
}

// rightsForm is the frame of a form below Rights.
func (v *visit) rightsForm(name, path string) page {
	return page{Noun: "Rights", Crumbs: []crumb{{"Rights", v.path("rights")}, {name, v.path("%s", path)}, {"New", ""}}}
}

// refusedTo is the error of who looks at a form that it may not send.
func (v *visit) refusedTo(do string) error {
	return domain.Forbiddenf("actor %d may not %s", v.who.Actor, do)
}

// roleMeans says what who has a role may do.
var roleMeans = map[domain.ContextRole]string{domain.Reader: "read all but the values of environments", domain.Executor: "read, and run jobs",
	domain.Admin: "do everything, and give roles to others"}

// roleMake gives an actor a role in the context.
func (v *visit) roleMake() error {
	here := contextName(v.tenant)
	if !v.may(api.ContextGrant.Operation) {
		return v.refusedTo("give roles in context " + here)
	}
	b := &makeBody{Title: "Give a role in context " + here, Verb: "Give 1 role", Check: true, Post: v.path("rights/new"),
		Intro:  "Where an actor has several roles, the strongest counts. Every node acts by it within a second.",
		Fields: []formField{v.field("actor", "Actor, by number", "20", ""), v.chosenField("role", "Role", "", roles...)}}
	b.Fields[0].Needed = true
	id, err := v.numberIn("actor")
	if err == nil && id == 0 {
		err = at("actor", domain.Invalidf("say who, by the number of the actor"))
	}
	p := api.GrantParams{Context: v.tenant.ID, Actor: domain.ActorID(id), Role: domain.ContextRole(cmp.Or(v.typedIn("role"), roles[0]))}
	b.Command = everywhere("context", "grant", here, cmp.Or(v.typedIn("actor"), "ACTOR"), "--role", string(p.Role))
	pg := v.rightsForm("Members", "rights")
	if v.r.Method == "GET" {
		return v.showMake(pg, b, nil)
	}
	b.Will = upper(actorText(p.Actor)) + " may " + roleMeans[p.Role] + " in context " + here + ", beside what it may already."
	if err == nil && !slices.Contains(roles, string(p.Role)) {
		err = at("role", domain.Invalidf("role %q: want one of %s", domain.PlainText(string(p.Role), 20), strings.Join(roles, ", ")))
	}
	if err != nil || !v.making() {
		return v.showMake(pg, b, err)
	}
	done, err := call(v, api.ContextGrant, p)
	if err != nil {
		return v.showMake(pg, b, err)
	}
	said := upper(actorText(p.Actor)) + " is " + string(p.Role) + " now."
	if !done.Changed {
		said = "It was so already."
	}
	return v.did(v.path("rights"), said, nil)
}

// Choices of forms; asNodes is what a context does that asks for nothing.
const (
	asNodes = "as the nodes do"
	no, yes = "no", "yes"
)

// contextMake makes a context.
func (v *visit) contextMake() error {
	if !v.mayOnNode(api.ContextCreate.Operation) {
		return v.refusedTo("make contexts")
	}
	b := &makeBody{Title: "New context", Verb: "Make 1 context", Check: true, Post: v.path("rights/contexts/new"),
		Intro: "A context is a tenant: it has its own jobs, flows, rights and share of the nodes.",
		Fields: []formField{v.field("alias", "Alias", "shop", "It will do wherever the number does, and stays for ever."),
			v.field("id", "Number", "the next free one", ""),
			v.field("admins", "Admins, by number", strconv.Itoa(int(v.who.Actor)), "They may do everything in it. Empty is you."),
			v.field("readers", "Readers", "30", "They may look."), v.field("executors", "Executors", "20, 21", "Their workers and runners may take jobs."),
			v.chosenField("executors_may_submit", "Executors may submit", "", no, yes),
			v.field("weight", "Weight", "1", "Its share of turns beside other contexts, 1 to 1000."),
			v.field("max_running", "Runs at most", "no bound", "How many of its jobs run at once."),
			v.chosenField("isolation", "Scripts are", "How far they are held in at the least.", asNodes, string(domain.Walled), string(domain.Sealed)),
			v.chosenField("archives", "Archives", "What of its ended work is archived.",
				string(domain.ArchivesAll), string(domain.ArchivesErrors), string(domain.ArchivesNone))}}
	b.halves("alias", "id", "admins", "executors", "executors_may_submit", "readers", "weight", "max_running", "isolation", "archives")
	t, words, err := v.contextTyped()
	b.Command = everywhere(words...)
	pg := v.rightsForm("Contexts", "rights/contexts")
	if v.r.Method == "GET" {
		return v.showMake(pg, b, nil)
	}
	if err == nil {
		checked := t
		checked.ID = cmp.Or(checked.ID, 1) // 0 is the next free one
		err = checked.Validate()
	}
	b.Will = "Makes 1 context, with " + plural(len(t.Admins), "admin") + ", " + plural(len(t.Executors), "executor") + " and " +
		plural(len(t.Readers), "reader") + "."
	if err != nil || !v.making() {
		return v.showMake(pg, b, err)
	}
	done, err := call(v, api.ContextCreate, api.CreateContextParams{Tenant: t})
	if err != nil {
		return v.showMake(pg, b, err)
	}
	said := "Context " + contextName(done.Tenant) + " is made."
	if done.Existing {
		said = "It was there already, just so."
	}
	return v.did(Path+"c/"+contextName(done.Tenant)+"/rights", said, nil)
}

// contextTyped is the context that was typed, and the command that makes it.
//
// Errors: [domain.ErrInvalid], at the field.
func (v *visit) contextTyped() (t domain.Tenant, words []string, err error) {
	number := func(name string) int {
		n, wrong := v.numberIn(name)
		err = cmp.Or(err, wrong)
		return int(n)
	}
	actors := func(name string) domain.List[domain.ActorID] {
		list, wrong := numbersIn[domain.ActorID](v, name)
		err = cmp.Or(err, wrong)
		return list
	}
	t = domain.Tenant{Alias: v.typedIn("alias"), ID: domain.TenantID(number("id")), Admins: actors("admins"),
		Executors: actors("executors"), Readers: actors("readers"),
		ExecutorsMaySubmit: v.typedIn("executors_may_submit") == yes, Weight: number("weight"), MaxRunning: number("max_running"),
		Isolation: domain.Isolation(v.typedIn("isolation")), Archives: domain.Archives(v.typedIn("archives"))}
	if t.Isolation == asNodes {
		t.Isolation = ""
	}
	if t.Archives == domain.ArchivesAll {
		t.Archives = "" // which is the default
	}
	if len(t.Admins) == 0 {
		t.Admins = domain.List[domain.ActorID]{v.who.Actor}
	}
	words = flagsOf([]string{"context", "create"}, "id", v.typedIn("id"), "alias", t.Alias, "admin", numbersText(t.Admins), "executor", numbersText(t.Executors))
	if t.ExecutorsMaySubmit {
		words = append(words, "--executors-may-submit")
	}
	return t, flagsOf(words, "reader", numbersText(t.Readers), "weight", v.typedIn("weight"), "max-running", v.typedIn("max_running"),
		"isolation", string(t.Isolation), "archives", string(t.Archives)), err
}

// numbersText is a list as flags have it.
func numbersText[T ~uint32](list []T) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.FormatUint(uint64(n), 10)
	}
	return strings.Join(words, ",")
}

// actorMake makes somebody an actor, by the public half of a key.
func (v *visit) actorMake() error {
	if !v.mayOnNode(api.ActorCreate.Operation) {
		return v.refusedTo("make actors")
	}
	b := &makeBody{Title: "New actor", Verb: "Make 1 actor", Check: true, Post: v.path("rights/actors/new"),
		Intro: "An actor is a person, a program or a site, known by the public half of its key. The other half never comes here: who is to be the actor makes it.",
		Fields: []formField{v.field("pubkey", "Public key", "64 hex digits", "Who has none yet makes one: ramet actor new --no-register --id NUMBER shows it."),
			v.field("id", "Number", "the next free one", "It must be the one in the key file, where that names one."),
			v.field("address", "Addresses, one a line", "node:7ac9…", "Where it can be reached, if it is at another site.")}}
	b.Fields[0].Needed, b.Fields[2].Area = true, 2
	id, err := v.numberIn("id")
	a := domain.Actor{ID: domain.ActorID(id), Pubkey: strings.ToLower(v.typedIn("pubkey"))}
	words := flagsOf([]string{"actor", "add", cmp.Or(a.Pubkey, "PUBKEY")}, "id", v.typedIn("id"))
	for _, address := range v.linesIn("address") {
		a.Address = append(a.Address, domain.Address(address))
		words = append(words, "--address", address)
	}
	b.Command = everywhere(words...)
	pg := v.rightsForm("Actors", "rights/actors")
	if v.r.Method == "GET" {
		return v.showMake(pg, b, nil)
	}
	if err == nil && a.Pubkey == "" {
		err = at("pubkey", domain.Invalidf("give the public key of the actor"))
	}
	if err == nil {
		err = a.Validate()
	}
	b.Will = "Makes 1 actor, which has no role anywhere before somebody gives it one."
	if err != nil || !v.making() {
		return v.showMake(pg, b, err)
	}
	done, err := call(v, api.ActorCreate, api.CreateActorParams{Actor: a})
	if err != nil {
		return v.showMake(pg, b, err)
	}
	said := upper(actorText(done.ID)) + " is made. It has no role yet."
	if done.Existing {
		said = upper(actorText(done.ID)) + " was there already, with this key."
	}
	return v.did(v.path("rights/actors"), said, nil)
}

// tokenLives are for how long a token can be good.
var tokenLives = []struct {
	name string
	d    time.Duration
}{{"1h", time.Hour}, {"12h", 12 * time.Hour}, {"24h", identity.MaxTokenLife}, {"10m", 10 * time.Minute}}

// tokenMake signs a token with a key that is pasted, used once and forgotten, as it is to
// sign in. Where somebody could read it on its way, the command is all that is offered.
func (v *visit) tokenMake() error {
	lives := make([]string, len(tokenLives))
	for i, l := range tokenLives {
		lives[i] = l.name
	}
	node := v.console.cfg.Node
	b := &makeBody{Title: "New token", Verb: "Make 1 token", Post: v.path("rights/tokens/new"),
		Intro: "A token is good for whoever has it, for a while, for all that its actor may, or for less. " +
			"The key signs it here, once, and is not kept; the command does it without the key leaving its machine.",
		Fields: []formField{v.field("name", "What it is for", "dashboard", "The list of tokens shows it by this name."),
			v.chosenField("for", "Good for", "", lives...),
			v.chosenField("read_only", "Only to read", "", no, yes), v.field("contexts", "Only for these contexts, by number", "all", ""),
			v.field("groups", "Only for these nouns", "all", "As jobs, flows. The console wants all."),
			{Name: secretField, Label: "Text of the key file", Area: 4, Needed: true, Secret: true}}}
	b.halves("for", "read_only", "contexts", "groups")
	claims := identity.Claims{Name: v.typedIn("name")}
	claims.ReadOnly = v.typedIn("read_only") == yes
	var err error
	if claims.Contexts, err = numbersIn[domain.TenantID](v, "contexts"); err == nil {
		claims.Groups, err = v.groupsIn("groups")
	}
	life := tokenLives[max(0, slices.Index(lives, v.typedIn("for")))]
	words := flagsOf([]string{"token", "--key", "FILE", "--audience", node, "--for", life.name}, "name", claims.Name, "context", numbersText(claims.Contexts),
		"group", strings.Join(claims.Groups, ","))
	if claims.ReadOnly {
		words = append(words, "--read-only")
	}
	b.Command = everywhere(words...)
	pg := v.rightsForm("Tokens", "rights/tokens")
	if !private(v.r) {
		return v.showMake(pg, b, domain.Invalidf("this connection has no TLS, and somebody could read the key on its way: use the command"))
	}
	if v.r.Method == "GET" {
		return v.showMake(pg, b, nil)
	}
	if err == nil {
		err = cmp.Or(at("name", domain.ValidateTokenName(claims.Name)), claims.Scope.Validate())
	}
	if err != nil || !v.making() {
		return v.showMake(pg, b, err)
	}
	token, who, err := v.signed(life.d, claims)
	if err != nil {
		return v.showMake(pg, b, at(secretField, err))
	}
	return v.showToken(token, who, b.Command)
}

// groupsIn are the nouns that were typed, as job or jobs.
//
// Errors: [domain.ErrInvalid], at the field.
func (v *visit) groupsIn(name string) (groups []string, err error) {
	known := api.Groups()
	for _, word := range strings.FieldsFunc(v.typedIn(name), func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
		if !slices.Contains(known, word) {
			word = strings.TrimSuffix(word, "s")
		}
		if !slices.Contains(known, word) {
			return nil, at(name, domain.Invalidf("%q: want one or more of %s", domain.PlainText(word, 40), strings.Join(known, ", ")))
		}
		groups = append(groups, word)
	}
	return groups, nil
}

// signed signs a token with the key that was pasted, and makes it known by its name where
// it is of who looks. The node takes it, or it is not shown.
//
// Errors: [domain.ErrInvalid], [domain.ErrUnauthenticated], and those of the board.
func (v *visit) signed(life time.Duration, claims identity.Claims) (string, domain.ActorID, error) {
	key, err := identity.ParseKey([]byte(v.typedIn(secretField)))
	if err != nil {
		return "", 0, domain.Invalidf("this is no whole key file: paste all of the file that `ramet actor new` wrote")
	}
	token, err := identity.MintFor(key, v.console.cfg.Node, v.now, life, claims)
	if err != nil {
		return "", 0, err
	}
	who, err := v.console.cfg.Tokens.Verify(v.r.Context(), token)
	if err != nil {
		return "", 0, err
	}
	if claims.Name != "" && who.Actor == v.who.Actor {
		_, err = call(v, api.TokenNote, api.NoteTokenParams{Token: token})
	}
	return token, who.Actor, err
}

// showToken shows a token, this once.
func (v *visit) showToken(token string, who domain.ActorID, command string) error {
	b := &detailBody{Title: "A token of " + actorText(who), Links: []crumb{{"To the list", v.path("rights/tokens")}},
		Sections: []section{{Intro: "It is shown this once. Whoever has it may do what it is good for, until it ends or is revoked.", Lines: []string{token}}}}
	pg := v.rightsForm("Tokens", "rights/tokens")
	pg.Title, pg.Command, pg.Body = b.Title, command, b
	v.render(nethttp.StatusOK, pg)
	return nil
}
