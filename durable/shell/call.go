package shell

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
	"github.com/ramet-run/ramet/internal/intake"
)

// This file has the commands by which a script has others do something.

func (s *session) call(args []string) (int, error) {
	f := flags{"blueprint": {value: true}, "script": {value: true}, "type": {value: true}, "param": {value: true}}
	rest, err := f.parse(args)
	if err != nil || len(rest) != 1 || f["blueprint"].set == f["script"].set {
		return 0, cmp.Or(err, error(domain.Invalidf("want call NAME with --blueprint NAME or --script FILE, such as call bill --blueprint billing --param order=17")))
	}
	one := domain.Call{Name: rest[0], Blueprint: f["blueprint"].text}
	if path := f["script"].text; path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return 0, domain.Invalidf("--script: %v", err)
		}
		one.Script, one.ScriptType = string(text), domain.ScriptType(f["type"].text)
		if one.ScriptType == "" {
			one.ScriptType = domain.GuessScriptType(path, one.Script)
		}
	}
	for _, text := range f["param"].all {
		name, value, found := strings.Cut(text, "=")
		if !found {
			return 0, domain.Invalidf("--param %.80q: want NAME=VALUE", text)
		}
		if one.Params == nil {
			one.Params = map[string]string{}
		}
		one.Params[name] = value
	}
	return s.ends([]domain.Call{one})
}

func (s *session) gather(args []string) (int, error) {
	if len(args) == 0 {
		return 0, domain.Invalidf("want gather JSON..., such as gather '{\"name\":\"a\",\"blueprint\":\"billing\"}'")
	}
	calls := make([]domain.Call, len(args))
	for i, text := range args {
		if err := intake.Decode([]byte(text), &calls[i], intake.Limits{Bytes: durable.MaxLine}); err != nil {
			return 0, domain.Invalidf("gather %.80q: want JSON such as {\"name\":\"a\",\"blueprint\":\"billing\",\"params\":{\"order\":\"17\"}}: %v", text, err)
		}
	}
	return s.ends(calls)
}

// ends has calls done, and prints their results, a line each. It fails with the first that has.
func (s *session) ends(calls []domain.Call) (int, error) {
	a, err := s.ask(durable.Request{Do: durable.DoCall, Calls: calls, Stop: true})
	if err != nil {
		return 0, err
	}
	if a.Suspend {
		return s.suspended()
	}
	code := 0
	for i, end := range a.Ends {
		if end.Failure == nil {
			s.show(end.Value)
			continue
		}
		c, err := s.answered(calls[i].Name, durable.Answer{Failure: end.Failure})
		if code = cmp.Or(code, c); err != nil {
			return code, err
		}
	}
	return code, nil
}

func (s *session) approval(args []string) (int, error) {
	f := flags{"text": {value: true}, "approver": {value: true}, "answers": {value: true}, "not-submitter": {}, "timeout": {value: true}}
	rest, err := f.parse(args)
	if err != nil || len(rest) != 1 {
		return 0, cmp.Or(err, error(domain.Invalidf("want approval NAME, such as approval pay --text 'Pay 17?' --approver admin --timeout 3d")))
	}
	asked := durable.Asked{Text: f["text"].text, Approval: domain.Approval{Approvers: f["approver"].all, NotSubmitter: f["not-submitter"].set}}
	if f["answers"].set {
		var fields durable.AskedFields
		if err := intake.Decode([]byte(f["answers"].text), &fields, intake.Limits{Bytes: durable.MaxLine}); err != nil {
			return 0, domain.Invalidf("--answers: want JSON such as {\"amount\": {\"type\": \"number\", \"required\": true}}: %v", err)
		}
		asked.Answers = fields
	}
	a, code, err := s.await(durable.Request{Do: durable.DoWait, Name: rest[0], Approval: &asked, Stop: true}, f["timeout"], "nobody decided")
	if err != nil || code != 0 {
		return code, err
	}
	s.show(a.Value)
	var d struct {
		Approved bool `json:"approved"`
	}
	if err := json.Unmarshal(a.Value, &d); err != nil {
		return 0, errors.Join(fmt.Errorf("what was decided cannot be read"), err)
	}
	if !d.Approved {
		return exitFailed, nil
	}
	return 0, nil
}
