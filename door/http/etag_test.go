package http_test

import (
	nethttp "net/http"
	"strings"
	"testing"
)

const plan = `{"name":"p","steps":[{"name":"a","script":"x","script_type":"lines"}]}`

func TestWhatIsReadHasATag(t *testing.T) {
	r := newRig(t)
	r.want(200, admin, "POST", "/v1/contexts/7/flows", `{"jobs":[{"id":1,"script":"x","script_type":"lines"}]}`)
	r.submit(11, "say "+strings.Repeat("hello ", 1000))
	r.submit(12, "gate")
	r.wait(11)
	r.want(200, admin, "POST", "/v1/contexts/7/blueprints", plan)
	r.want(200, admin, "POST", "/v1/contexts/7/schedules", `{"name":"s","blueprint":"p","cron":"0 3 * * *","overlap":"skip"}`)
	for _, path := range []string{"/jobs/10/11", "/jobs", "/blueprints/p", "/schedules/s", "/flows/1", ""} {
		path = "/v1/contexts/7" + path
		first := r.request(reader, "GET", path, "", "Accept-Encoding", "identity")
		tag := first.Header.Get("ETag")
		if first.StatusCode != nethttp.StatusOK || len(tag) != 34 {
			t.Errorf("%s: got %s, ETag %q", path, first.Status, tag)
		}
		if path != "/v1/contexts/7/jobs/10/11" {
			continue // what of these moves, moves
		}
		zip := r.request(reader, "GET", path, "", "Accept-Encoding", "gzip").Header.Get("ETag")
		if zip == tag || strings.Replace(zip, "-gzip", "", 1) != tag {
			t.Errorf("%s: got ETag %q compressed, %q plain", path, zip, tag)
		}
		for _, c := range []struct {
			name, header, value string
			status              int
		}{
			{"the same", "If-None-Match", tag, 304},
			{"the same, compressed", "If-None-Match", zip, 304},
			{"one of several", "If-None-Match", `"x", W/` + tag, 304},
			{"any", "If-None-Match", "*", 304},
			{"another", "If-None-Match", `"x"`, 200},
			{"if it is the same", "If-Match", tag, 200},
			{"if it is the same, compressed", "If-Match", zip, 200},
			{"if there is any", "If-Match", "*", 200},
			{"if it is another", "If-Match", `"x"`, 412},
			{"if it is the same in a weak sense", "If-Match", "W/" + tag, 412},
		} {
			t.Run(c.name, func(t *testing.T) {
				resp := r.request(reader, "GET", path, "", c.header, c.value, "Accept-Encoding", "identity")
				body := text(t, resp.Body)
				if resp.StatusCode != c.status || (body == "") != (c.status == 304) || (resp.Header.Get("ETag") == tag) != (c.status != 412) {
					t.Errorf("got %s, ETag %q, %.80s", resp.Status, resp.Header.Get("ETag"), body)
				}
			})
		}
	}
	// Of who may see less it is another.
	const job = "/v1/contexts/7/jobs/10/13"
	r.want(200, admin, "POST", "/v1/contexts/7/jobs", `{"id":13,"script":"x","script_type":"lines","env_vars":{"KEY":"secret"}}`)
	r.wait(13)
	if one, other := r.request(admin, "GET", job, "").Header.Get("ETag"), r.request(reader, "GET", job, "").Header.Get("ETag"); one == other {
		t.Errorf("got %q for who sees the environment and who does not", one)
	}
	// What has changed is given.
	const gate = "/v1/contexts/7/jobs/10/12"
	before := r.request(reader, "GET", gate, "").Header.Get("ETag")
	close(r.script.gate)
	r.wait(12)
	r.want(200, reader, "GET", gate, "", "If-None-Match", before)
	for _, path := range []string{gate + "/wait?timeout_ms=1", "/health"} {
		if got := r.request(reader, "GET", path, "").Header.Get("ETag"); got != "" {
			t.Errorf("%s: got ETag %q", path, got)
		}
	}
	r.want(404, reader, "GET", "/v1/contexts/7/jobs/10/99", "", "If-None-Match", "*")
}

func TestAConditionThatNothingHoldsIsRefused(t *testing.T) {
	r := newRig(t)
	const blueprints = "/v1/contexts/7/blueprints"
	for _, c := range []struct{ method, path, body, header, want string }{
		{"POST", blueprints, plan, "If-None-Match", "blueprint.apply holds * only"},
		{"POST", "/v1/contexts/7/jobs", `{"script":"x","script_type":"lines"}`, "If-None-Match", "job.submit cannot hold it"},
		{"POST", "/v1/contexts/7/jobs", `{"script":"x","script_type":"lines"}`, "If-Match", "job.submit cannot hold it"},
		{"GET", "/v1/contexts/7/jobs/10/1/wait", "", "If-Match", "job.wait cannot hold it"},
	} {
		if got := r.want(400, admin, c.method, c.path, c.body, c.header, `"x"`); !strings.Contains(got, c.header+": ") || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: got %s, want %s", c.method, c.path, got, c.want)
		}
	}
	r.want(404, admin, "GET", blueprints+"/p", "") // nothing was done
}

// What a request changes is as its caller has read it, or nothing is done.
func TestAChangeIsHeld(t *testing.T) {
	r := newRig(t)
	const blueprints, one = "/v1/contexts/7/blueprints", "/v1/contexts/7/blueprints/p"
	other := strings.Replace(plan, `"x"`, `"y"`, 1)
	r.want(412, admin, "POST", blueprints, plan, "If-Match", "*") // there is none
	r.want(404, admin, "GET", one, "")
	r.want(200, admin, "POST", blueprints, plan, "If-None-Match", "*")
	r.want(412, admin, "POST", blueprints, other, "If-None-Match", "*")
	tag := r.request(admin, "GET", one, "").Header.Get("ETag")
	r.want(412, admin, "POST", blueprints, other, "If-Match", `"x"`)
	refused := r.request(admin, "POST", blueprints, other, "If-Match", `"x", W/`+tag)
	if got := refused.Header.Get("ETag"); refused.StatusCode != 412 || got != tag {
		t.Errorf("got %d, ETag %q, want that of what is there, %q", refused.StatusCode, got, tag)
	}
	zipped := strings.TrimSuffix(tag, `"`) + `-gzip"`
	r.want(200, admin, "POST", blueprints, other, "If-Match", zipped)
	r.want(412, admin, "DELETE", one, "", "If-Match", tag)
	r.want(200, admin, "GET", one, "")
	r.want(200, admin, "DELETE", one, "", "If-Match", r.request(admin, "GET", one, "").Header.Get("ETag"))
	r.want(404, admin, "GET", one, "")
	// Under a key, too: the same request again is answered as before.
	r.want(200, admin, "POST", blueprints, plan, "If-None-Match", "*", "Idempotency-Key", "k")
	r.want(200, admin, "POST", blueprints, plan, "If-None-Match", "*", "Idempotency-Key", "k")
	// Who may not read what is there does not get to know its tag.
	if got := r.request(stranger, "DELETE", one, "", "If-Match", `"x"`); got.StatusCode != 403 || got.Header.Get("ETag") != "" {
		t.Errorf("got %d, %v", got.StatusCode, got.Header)
	}
}
