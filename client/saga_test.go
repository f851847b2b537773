package client_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

func TestHistoryGoesOnWhereItBroke(t *testing.T) {
	var asked []string
	c := open(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.EscapedPath()+" after "+r.Header.Get("Last-Event-ID"))
		w.Header().Set("Content-Type", "text/event-stream")
		switch len(asked) {
		case 1:
			fmt.Fprint(w, "id: 1\nevent: history\ndata: {\"lines\":[{\"version\":1,\"event_id\":\"a\"},{\"version\":1,\"event_id\":\"b\"}]}\n\nid: "+
				"2\nevent: history\ndata: {\"li")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case 2:
			fmt.Fprint(w, "id: 2\nevent: history\ndata: {\"lines\":[{\"version\":2,\"event_id\":\"c\"}]}\n\nevent: new\ndata: x\n\n")
		default:
			fmt.Fprint(w, "event: end\ndata: {\"correlation_id\":\"..\",\"status\":\"ended\"}\n\n")
		}
	})
	var got []string
	in, err := c.FollowHistory(t.Context(), 1, "order", "..", func(l domain.SagaEntry) error {
		got = append(got, l.EventID)
		return nil
	})
	if err != nil || in.Status != domain.SagaEnded || strings.Join(got, "") != "abc" {
		t.Errorf("got %v, %+v, %v", got, in, err)
	}
	const path = "/v1/contexts/1/sagas/order/instances/%2E%2E/history after "
	if diff := cmp.Diff([]string{path, path + "1", path + "2"}, asked); diff != "" {
		t.Errorf("asked (-want +got)\n%s", diff)
	}
}

func TestManyDeadLettersTakeSeveralCalls(t *testing.T) {
	var asked []api.DeadLetterChoice
	c := open(t, func(w http.ResponseWriter, r *http.Request) {
		var in api.DeadLetterChoice
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		asked = append(asked, in)
		out := api.DeadLettersDone{Count: 500, Done: 499, Next: fmt.Sprint(len(asked)), Failed: []api.FailedDeadLetter{{ID: fmt.Sprint(len(asked))}}}
		if len(asked) == 3 {
			out = api.DeadLettersDone{Count: 1, Done: 1}
		}
		answer(w, 200, out)
	})
	out, err := c.ReplayDeadLetters(t.Context(), 1, api.DeadLetterChoice{Saga: "order", All: true})
	if err != nil || out.Count != 1001 || out.Done != 999 || len(out.Failed) != 2 {
		t.Errorf("got %+v, %v", out, err)
	}
	if len(asked) != 3 || asked[0].Cursor != "" || asked[2].Cursor != "2" || !asked[2].All || asked[2].Saga != "order" {
		t.Errorf("asked %+v", asked)
	}
}

func TestRequestsOfSagas(t *testing.T) {
	var asked string
	c := open(t, func(w http.ResponseWriter, r *http.Request) {
		body := new(strings.Builder)
		_, _ = fmt.Fprint(body, r.Method, " ", r.URL.RequestURI())
		var in any
		if json.NewDecoder(r.Body).Decode(&in) == nil {
			text, _ := json.Marshal(in)
			_, _ = fmt.Fprint(body, " ", string(text))
		}
		asked = body.String()
		answer(w, 200, map[string]any{"event_ids": []string{"e1"}})
	})
	ctx := t.Context()
	for _, tt := range []struct {
		name string
		call func() error
		want string
	}{
		{"pages of instances", func() error {
			_, err := c.Instances(ctx, api.ListInstancesParams{Context: 7, Name: "order", InstanceFilter: api.InstanceFilter{Where: "a == 1"}, Limit: 5, Cursor: "x"})
			return err
		}, "GET /v1/contexts/7/sagas/order/instances?cursor=x&limit=5&where=a+%3D%3D+1"},
		{"one by an odd name", func() error { _, err := c.Instance(ctx, 7, "order", "a/b"); return err }, "GET /v1/contexts/7/sagas/order/instances/a%2Fb"},
		{"a delete", func() error { _, err := c.DeleteSaga(ctx, 7, "order", true); return err }, "DELETE /v1/contexts/7/sagas/order?force=true"},
		{"a pause of all", func() error { _, err := c.PauseSaga(ctx, 7, "order", ""); return err }, `POST /v1/contexts/7/sagas/order/pause {}`},
		{"a test without a payload", func() error { _, err := c.TestEffect(ctx, 7, "pay"); return err }, `POST /v1/contexts/7/effects/pay/test {}`},
		{"a call", func() error {
			_, err := c.CallEffect(ctx, 7, "pay", json.RawMessage(`{"a":1}`))
			return err
		}, `POST /v1/contexts/7/effects/pay/test {"call":true,"payload":{"a":1}}`},
		{"a target", func() error { _, err := c.PauseEffect(ctx, 7, "https://api:443"); return err }, `POST /v1/contexts/7/effects/https:%2F%2Fapi:443/pause`},
		{"an event", func() error {
			_, err := c.PublishEvent(ctx, 7, api.EventInput{Type: "T", Saga: "s", Correlation: "1"})
			return err
		}, `POST /v1/contexts/7/events {"correlation_id":"1","event_type":"T","saga":"s"}`},
		{"a letter", func() error { _, err := c.DeadLetter(ctx, 7, domain.DeadSaga, "."); return err }, `GET /v1/contexts/7/deadletters/saga/%2E`},
		{"a reload", func() error { _, err := c.ReloadNode(ctx); return err }, `POST /admin/reload`},
	} {
		if err := tt.call(); err != nil || asked != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.name, asked, err, tt.want)
		}
	}
}
