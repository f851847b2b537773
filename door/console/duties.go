package console

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

func (c *Console) mountDuties() {
	c.live("GET operate/duties", (*visit).dutiesPage)
	c.inContext("POST operate/duties/add", (*visit).addDuty)
	c.inContext("POST operate/duties/remove", (*visit).removeDuty)
}

// dutiesPage shows the rules by which nodes lose roles, and which have lost some.
func (v *visit) dutiesPage() error {
	duty, err := call(v, api.DutyShow, api.DutyParams{})
	if err != nil {
		return err
	}
	nodes, err := call(v, api.NodeList, api.ListNodesParams{})
	if err != nil {
		return err
	}
	rules := table{Name: "Rules", Head: []column{{"Rule", ""}, {"Nodes that lose roles", "name"}, {"Roles", "name"}, {"Do", ""}}}
	for i, r := range duty.Rules {
		do := entry{}
		if v.mayOnNode(api.DutySet.Operation) {
			command := "ramet duty set FILE"
			if len(duty.Rules) == 1 {
				command = "ramet duty clear"
			}
			do.Actions = []action{{Name: "Remove", Verb: "Remove rule " + strconv.Itoa(i+1), Post: v.path("operate/duties/remove"),
				Fields: []field{{"rule", dutyText(r)}}, Will: "The nodes that it took roles from take them up again within a second.",
				Command: command}}
		}
		rules.Rows = append(rules.Rows, row{Cells: []entry{words(strconv.Itoa(i + 1)), words(dutyNodes(r)), words(dutyRoles(r)), do}})
	}
	off := table{Name: "Nodes without a role", Head: []column{{"Node", "name"}, {"Role", "name"}, {"Rule", ""}, {"Why", "why"}}}
	lost := 0
	for i := range nodes.Nodes {
		n := &nodes.Nodes[i]
		if n.Alive && len(n.Off) > 0 {
			lost++
		}
		for _, o := range n.Off {
			rule := strconv.Itoa(o.Rule)
			if doctor.GivenUp(o) {
				rule = "none: given up by the node"
			}
			off.Rows = append(off.Rows, row{Cells: []entry{words(n.Name), words(string(o.Role)), words(rule), words(o.Why)}})
		}
	}
	b := &listBody{Tables: []table{rules, off}, None: "There is no rule of duty.", Make: "ramet duty set FILE"}
	s := &sentence{State: state{"all on duty", succeeded}, Text: "Every node that is alive has all its roles."}
	if lost > 0 {
		s = &sentence{State: state{"off duty", held}, Text: verbIs(lost, "node") + " without a role: others do that part of the work, if there are any."}
	}
	if v.mayOnNode(api.DutySet.Operation) {
		s.Actions = []action{{Name: "Add a rule", Verb: "Add the rule", Post: v.path("operate/duties/add"),
			Inputs: []formField{{Name: "role", Label: "Role to take", Options: roleNames()},
				typed("min_version", "From nodes that are older than", "", "1.4.0"),
				typed("host", "From nodes whose host name is not", "", "build-.*"),
				typed("not_host", "From nodes whose host name is", "", "edge-.*")},
			Will: "What runs goes on. A node that meets not all of what is said here begins no more work of that role; with nothing said no node does. " +
				"Without the gateway a node takes in no changes, those of this console among them.",
			Command: "ramet duty set FILE"}}
	}
	return v.operatePage("Duties", s, []string{"duty", "show"}, b)
}

func roleNames() (list []string) {
	for _, r := range domain.Roles {
		list = append(list, string(r))
	}
	return list
}

// dutyNodes says from which nodes a rule takes roles.
func dutyNodes(r domain.DutyRule) string {
	var list []string
	if r.MinVersion != "" {
		list = append(list, "older than "+r.MinVersion)
	}
	if r.Host != "" {
		list = append(list, "whose host is not "+r.Host)
	}
	if r.NotHost != "" {
		list = append(list, "whose host is "+r.NotHost)
	}
	if len(list) == 0 {
		return "all"
	}
	return strings.Join(list, ", or ")
}

func dutyRoles(r domain.DutyRule) string {
	var list []string
	for _, role := range r.Disable {
		list = append(list, string(role))
	}
	return strings.Join(list, ", ")
}

// dutyText names a rule in a form: by all that it says, for its number changes with those before it.
func dutyText(r domain.DutyRule) string {
	return fmt.Sprintf("%q %q %q %q", r.MinVersion, r.Host, r.NotHost, dutyRoles(r))
}

func (v *visit) addDuty() error {
	form := v.r.PostFormValue
	rule := domain.DutyRule{MinVersion: strings.TrimSpace(form("min_version")), Host: strings.TrimSpace(form("host")),
		NotHost: strings.TrimSpace(form("not_host")), Disable: []domain.Role{domain.Role(form("role"))}}
	err := v.changeDuties(func(rules []domain.DutyRule) ([]domain.DutyRule, error) { return append(rules, rule), nil })
	return v.did(v.path("operate/duties"), "The rule holds within a second.", err)
}

func (v *visit) removeDuty() error {
	text := v.r.PostFormValue("rule")
	err := v.changeDuties(func(rules []domain.DutyRule) (left []domain.DutyRule, err error) {
		found := false
		for _, r := range rules {
			if !found && dutyText(r) == text {
				found = true
				continue
			}
			left = append(left, r)
		}
		if !found {
			return nil, domain.Conflictf("that rule is not there any more: somebody else has changed the rules")
		}
		return left, nil
	})
	return v.did(v.path("operate/duties"), "The rule is gone. Nodes take up again what it took from them.", err)
}

// changeDuties puts other rules in place of those that there are, unless somebody else does so meanwhile. Where
// none is left all are taken away, which is an operation of its own: an empty list is refused as a mistake.
func (v *visit) changeDuties(change func([]domain.DutyRule) ([]domain.DutyRule, error)) error {
	duty, err := call(v, api.DutyShow, api.DutyParams{})
	if err != nil {
		return err
	}
	left, err := change(duty.Rules)
	if err != nil {
		return err
	}
	op, params := api.DutySet.Name, any(&domain.Duties{Rules: left})
	if len(left) == 0 {
		op, params = api.DutyClear.Name, &api.DutyParams{}
	}
	_, err = v.caller.CallHeld(v.r.Context(), service.Named(op), params, func(answer any) error {
		if is, _ := answer.(api.Duty); !reflect.DeepEqual(is.Rules, duty.Rules) {
			return domain.Conflictf("somebody else has changed the rules meanwhile")
		}
		return nil
	})
	return err
}
