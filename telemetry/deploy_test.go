package telemetry_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/telemetry"
)

// These tests hold what operators copy, alert rules and dashboards, to the metrics that
// there are, and have Prometheus' own tool read them.

const rules = "../deploy/prometheus/ramet.rules.yml"

// alert is one rule.
type alert struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func alerts(t *testing.T) (list []alert) {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []alert
		}
	}
	text, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		list = append(list, g.Rules...)
	}
	return list
}

// dashboard is what is read of a dashboard's file.
type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Templating    struct{ List []struct{ Name, Type string } }
	Panels        []struct {
		ID          int
		Type, Title string
		GridPos     struct{ H, W, X, Y int }
		Targets     []struct{ Expr, RefID string }
	}
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob("../deploy/grafana/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d dashboards, %v", len(files), err)
	}
	all := map[string]dashboard{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[filepath.Base(file)] = d
	}
	return all
}

var (
	word     = regexp.MustCompile(`\b(?:ramet|go|process)_[a-z0-9_]+`)
	grouping = regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`)
	selector = regexp.MustCompile(`(ramet_[a-z0-9_]+)\{([^}]*)\}`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!=|!~|=)`)
)

// checkExpr holds an expression to the metrics that there are: their names, and the labels
// that are asked of them.
func checkExpr(t *testing.T, where, expr string) {
	t.Helper()
	series, labels := map[string][]string{}, []string{"le", "instance", "job"}
	for _, m := range telemetry.NewMetrics().All() {
		for _, name := range m.Series() {
			series[name] = append(m.Labels, "le", "instance", "job")
		}
	}
	found := word.FindAllString(expr, -1)
	for _, name := range found {
		if _, there := series[name]; !there && strings.HasPrefix(name, "ramet_") {
			t.Errorf("%s: there is no metric %s", where, name)
		}
		labels = append(labels, series[name]...)
	}
	for _, by := range grouping.FindAllStringSubmatch(expr, -1) {
		for label := range strings.SplitSeq(by[1], ",") {
			if label = strings.TrimSpace(label); label != "" && !slices.Contains(labels, label) {
				t.Errorf("%s: none of its metrics has the label %s", where, label)
			}
		}
	}
	for _, s := range selector.FindAllStringSubmatch(expr, -1) {
		for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
			if !slices.Contains(series[s[1]], m[1]) {
				t.Errorf("%s: %s has no label %s", where, s[1], m[1])
			}
		}
	}
}

func TestAlertsUseWhatThereIsAndHaveARunbook(t *testing.T) {
	docs, err := os.ReadFile("../docs/operate/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	list := alerts(t)
	if len(list) < 20 {
		t.Errorf("got %d alerts, want at least 20", len(list))
	}
	for _, a := range list {
		checkExpr(t, a.Alert, a.Expr)
		if !slices.Contains([]string{"critical", "warning", "info"}, a.Labels["severity"]) {
			t.Errorf("%s: severity %q, want critical, warning or info", a.Alert, a.Labels["severity"])
		}
		if a.Annotations["summary"] == "" || a.Annotations["description"] == "" {
			t.Errorf("%s: want a summary and a description", a.Alert)
		}
		if want := "https://github.com/ramet-run/ramet/blob/main/docs/operate/alerts.md#" + strings.ToLower(a.Alert); a.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url %q, want %q", a.Alert, a.Annotations["runbook_url"], want)
		}
		if !strings.Contains(string(docs), "\n## "+a.Alert+"\n") {
			t.Errorf("docs/operate/alerts.md has no section %s", a.Alert)
		}
	}
	for _, section := range regexp.MustCompile(`\n## (Ramet\w+)\n`).FindAllStringSubmatch(string(docs), -1) {
		if !slices.ContainsFunc(list, func(a alert) bool { return a.Alert == section[1] }) {
			t.Errorf("docs/operate/alerts.md has a section %s, and there is no such alert", section[1])
		}
	}
}

func TestDashboardsUseWhatThereIs(t *testing.T) {
	uids := map[string]bool{}
	for file, d := range dashboards(t) {
		if d.UID == "" || uids[d.UID] || d.Title == "" || d.SchemaVersion == 0 || len(d.Templating.List) == 0 || d.Templating.List[0].Type != "datasource" {
			t.Errorf("%s: want a uid of its own, a title, the version of its schema, and a data source to choose", file)
		}
		uids[d.UID] = true
		ids := map[int]bool{}
		for i, p := range d.Panels {
			where := file + ": " + p.Title
			if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 || p.GridPos.H == 0 || p.Title == "" {
				t.Errorf("%s: want an id of its own and a place within 24 columns", where)
			}
			ids[p.ID] = true
			for _, q := range d.Panels[:i] {
				a, b := p.GridPos, q.GridPos
				if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
					t.Errorf("%s lies over %s", where, q.Title)
				}
			}
			if (len(p.Targets) == 0) != (p.Type == "row") {
				t.Errorf("%s: a %s with %d queries", where, p.Type, len(p.Targets))
			}
			for _, target := range p.Targets {
				checkExpr(t, where, target.Expr)
			}
		}
	}
}

// TestMostMetricsAreOnADashboard or in an alert: few are for looking up by hand.
func TestMostMetricsAreOnADashboard(t *testing.T) {
	used := map[string]bool{}
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				for _, name := range word.FindAllString(target.Expr, -1) {
					used[name] = true
				}
			}
		}
	}
	for _, a := range alerts(t) {
		for _, name := range word.FindAllString(a.Expr, -1) {
			used[name] = true
		}
	}
	var not []string
	for _, m := range telemetry.NewMetrics().All() {
		if !slices.ContainsFunc(m.Series(), func(s string) bool { return used[s] }) {
			not = append(not, m.Name)
		}
	}
	if len(not) > 25 {
		t.Errorf("%d metrics are neither on a dashboard nor in an alert: %q", len(not), not)
	}
}

// promtool is Prometheus' own tool.
func promtool(t *testing.T) string {
	t.Helper()
	if path, err := filepath.Abs("../bin/promtool"); err == nil {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("there is no promtool: scripts/install-test-servers")
	}
	return path
}

func TestPromtoolTakesTheRules(t *testing.T) {
	tool := promtool(t)
	for _, args := range [][]string{{"check", "rules", "ramet.rules.yml"}, {"test", "rules", "ramet.rules_test.yml"},
		{"check", "config", "--syntax-only", "prometheus.yml"}} {
		cmd := exec.Command(tool, args...)
		cmd.Dir = filepath.Dir(rules)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

func TestPromtoolTakesTheDashboards(t *testing.T) {
	tool := promtool(t)
	type rule struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var list []rule
	for file, d := range dashboards(t) {
		for _, p := range d.Panels {
			for i, q := range p.Targets {
				expr := strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*").Replace(q.Expr)
				list = append(list, rule{fmt.Sprintf("%s:%d:%d", strings.TrimSuffix(file, ".json"), p.ID, i), expr})
			}
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboards", "rules": list}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "dashboards.yml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(tool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// TestPromtoolTakesAScrape has promtool look at the names and help of all that is
// shown.
func TestPromtoolTakesAScrape(t *testing.T) {
	tool := promtool(t)
	m := telemetry.NewMetrics(7)
	everything(m)
	cmd := exec.Command(tool, "check", "metrics")
	cmd.Stdin = strings.NewReader(scrape(t, m))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}
