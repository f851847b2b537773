package console

import (
	"cmp"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file has the secrets of a context by their names, and the form that sets one. No page
// has a value: none can be read back.

func (c *Console) mountSecrets() {
	c.inContext("GET rights/secrets", (*visit).secretsPage)
	c.mountMake("rights/secrets/new", (*visit).secretMake)
	c.inContext("POST rights/secrets/delete", (*visit).deleteSecret)
}

// secretSources say where a secret comes from.
var secretSources = map[string]string{domain.SecretSealed: "the board, sealed", domain.SecretEnvironment: "the node's environment",
	domain.SecretFile: "a file of the node"}

func (v *visit) secretsPage() error {
	list, err := call(v, api.SecretList, api.ListSecretsParams{Context: v.tenant.ID})
	if err != nil {
		return err
	}
	t := table{Name: "Secrets", Head: []column{{"Secret", "name"}, {"From", "why"}, {"Set", ""}, {"By", ""}, {"Do", ""}}}
	for i := range list.Secrets {
		s := &list.Secrets[i]
		var acts []action
		if s.Source == domain.SecretSealed && v.may(api.SecretDelete.Operation) {
			acts = []action{{Name: "Delete", Verb: "Delete 1 secret", Post: v.path("rights/secrets/delete"), Fields: []field{{"name", s.Name}},
				Will:    "The secret leaves the board. Jobs that name it fail from now on, until somebody sets it again. This cannot be undone.",
				Command: v.command("secret", "delete", s.Name)}}
		}
		link := ""
		if v.may(api.SecretSet.Operation) {
			link = v.path("rights/secrets/new") + with("name", s.Name)
		}
		t.Rows = append(t.Rows, row{Cells: []entry{linkTo(s.Name, link), words(cmp.Or(secretSources[s.Source], s.Source)), when(v.past(s.SetMs)),
			words(actorText(s.By)), {Actions: acts}}})
	}
	return v.rightsPage("Secrets", nil, v.command("secret", "list"), &listBody{Tables: []table{t},
		Intro: "What jobs find in their environment, by its name alone: nobody reads a value back.",
		Links: v.toMake(v.may(api.SecretSet.Operation), "Set a secret", "rights/secrets/new"),
		None:  "This context has no secret.", Make: "printf %s VALUE | " + v.command("secret", "set", "warehouse")})
}

// secretMake sets a secret, over one of its name. Its value is never sent back.
func (v *visit) secretMake() error {
	if !v.may(api.SecretSet.Operation) {
		return v.refusedTo("set secrets in context " + contextName(v.tenant))
	}
	name := v.typedIn("name")
	b := &makeBody{Title: "Set a secret", Verb: "Set 1 secret", Quick: true, Post: v.path("rights/secrets/new"),
		Intro: "It goes over one of that name; jobs find it from their next attempt on. It is not shown again, here or elsewhere.",
		Fields: []formField{v.field("name", "Name", "warehouse", "Blueprints and jobs name it so."),
			{Name: secretField, Label: "Value", Area: 3, Needed: true, Secret: true, Help: "4 bytes to 64 KiB. The line end behind a single line is left out."}},
		Command: v.command("secret", "set", cmp.Or(name, "NAME"), "--from-file", "FILE")}
	b.Fields[0].Needed = true
	pg := v.rightsForm("Secrets", "rights/secrets")
	if !private(v.r) {
		return v.showMake(pg, b, domain.Invalidf("this connection has no TLS, and somebody could read the secret on its way: use the command"))
	}
	if v.r.Method == "GET" {
		return v.showMake(pg, b, nil)
	}
	value := domain.SecretText(v.r.PostFormValue(secretField))
	var faults wrongs
	faults.add(at("name", domain.ValidateName("secret", name)))
	if v.making() { // as one types, the value is not sent
		faults.add(at(secretField, domain.ValidateSecret(value)))
	}
	if err := faults.all(); err != nil || !v.making() {
		return v.showMake(pg, b, err)
	}
	if _, err := call(v, api.SecretSet, api.SetSecretParams{Context: v.tenant.ID, Name: name, Value: value}); err != nil {
		return v.showMake(pg, b, err)
	}
	return v.did(v.path("rights/secrets"), "Secret "+name+" is set.", nil)
}

func (v *visit) deleteSecret() error {
	p := api.SecretParams{Context: v.tenant.ID, Name: v.r.PostFormValue("name")}
	_, err := call(v, api.SecretDelete, p)
	return v.did(v.path("rights/secrets"), "Secret "+domain.PlainText(p.Name, 100)+" was deleted.", err)
}
