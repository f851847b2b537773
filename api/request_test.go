package api_test

import (
	"encoding/json"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// TestABodyHasWhatTheAddressHasToo holds names of the body apart from those of the address,
// and from those of the structs that fields stand in.
func TestABodyHasWhatTheAddressHasToo(t *testing.T) {
	path, query, body := api.BanSet.Request(api.BanParams{In: 7, BanInput: api.BanInput{
		BanScope: domain.BanScope{Kind: domain.BanContext, Context: 7}, Level: domain.BanPick}})
	if path != "/v1/contexts/7/bans" || len(query) != 0 {
		t.Errorf("got %s?%s", path, query.Encode())
	}
	text, err := json.Marshal(body)
	if want := `{"context":7,"kind":"context","level":"pick"}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
	_, _, body = api.MessageSend.Request(api.SendParams{Context: 7, Message: domain.Message{Message: "hello"}})
	if text, err := json.Marshal(body); err != nil || string(text) != `{"message":"hello"}` {
		t.Errorf("got %s, %v", text, err)
	}
	path, query, body = api.SagaInstance.Request(api.InstanceParams{Context: 7, Name: "..", Correlation: "a/b c"})
	if path != "/v1/contexts/7/sagas/%2E%2E/instances/a%2Fb%20c" || len(query) != 0 || body != nil {
		t.Errorf("got %s?%s %v", path, query.Encode(), body)
	}
}
