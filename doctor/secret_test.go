package doctor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
)

// TestDoctorNamesSecretsThatDoNotOpen: a node that was restored without its key says so before
// a job or a delivery fails.
func TestDoctorNamesSecretsThatDoNotOpen(t *testing.T) {
	answers := doctor.Answers{
		Secrets:  []domain.Secret{{Name: "fine"}, {Name: "db", Locked: "the key is not here"}},
		Webhooks: []api.Webhook{{Webhook: domain.Webhook{Name: "deploy"}, Locked: "the key is not here"}},
	}
	for range 7 {
		answers.Secrets = append(answers.Secrets, domain.Secret{Name: "more", Locked: "the key is not here"})
	}
	var text strings.Builder
	for _, f := range doctor.Of(answers, "", time.Now()).Findings {
		if f.State == doctor.Bad {
			text.WriteString(f.What + ": " + f.Text + "\n")
		}
	}
	for _, want := range []string{"secret db: this node cannot open it", "the key is not here (`ramet secret set db`)", "secrets: 3 more",
		"webhook deploy: ", "`ramet webhook rotate deploy`"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("got %s, want %q", text.String(), want)
		}
	}
}
