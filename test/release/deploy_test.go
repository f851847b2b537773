package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestTheUnitIsOne has systemd read it, with a program that is there.
func TestTheUnitIsOne(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	text, err := os.ReadFile("../../deploy/systemd/ramet.service")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "ExecStart=/usr/bin/ramet serve ") {
		t.Fatal("it starts no node")
	}
	unit := filepath.Join(t.TempDir(), "ramet.service")
	changed := regexp.MustCompile(`(?m)^(Exec\w+=)/usr/bin/ramet|^Documentation=.*`).ReplaceAllString(string(text), "${1}/bin/true")
	changed = strings.ReplaceAll(changed, "\n/bin/true\n", "\n") // Documentation: the page is not installed
	if err := os.WriteFile(unit, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := output(t, "systemd-analyze", "verify", unit); strings.Contains(out, "ramet.service") {
		t.Errorf("it says %s", out)
	}
}

// compose is what is looked at of such a file.
type compose struct {
	Services map[string]struct {
		Image, Build, Restart any
		Command               []string
		Environment           map[string]string
		Volumes, Secrets      []string
		Configs               []struct{ Source, Target string }
		DependsOn             map[string]any `yaml:"depends_on"`
		Ports                 []string
	}
	Volumes, Secrets, Configs map[string]any
}

// TestComposeFilesNameWhatTheyHave: an engine would refuse the rest.
func TestComposeFilesNameWhatTheyHave(t *testing.T) {
	files, err := filepath.Glob("../../deploy/compose/*.yaml")
	if err != nil || len(files) != 2 {
		t.Fatalf("got %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c compose
		if err := yaml.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		has := func(all map[string]any, name, what string) {
			if _, there := all[name]; !there {
				t.Errorf("%s: %s %s is used and not there", file, what, name)
			}
		}
		for name, s := range c.Services {
			for _, v := range s.Volumes {
				volume, _, _ := strings.Cut(v, ":")
				has(c.Volumes, volume, "volume")
			}
			for _, secret := range s.Secrets {
				has(c.Secrets, secret, "secret")
			}
			for _, config := range s.Configs {
				has(c.Configs, config.Source, "config")
			}
			for other := range s.DependsOn {
				if _, there := c.Services[other]; !there {
					t.Errorf("%s: %s waits for %s, which is not there", file, name, other)
				}
			}
			for _, port := range s.Ports { // for this machine alone, unless somebody decides otherwise
				if !strings.HasPrefix(port, "127.0.0.1:") {
					t.Errorf("%s: %s is open to all at %s", file, name, port)
				}
			}
			for variable, value := range s.Environment {
				url, _, _ := strings.Cut(strings.TrimPrefix(value, "redis://"), ":")
				if _, there := c.Services[url]; variable == "RAMET_BOARD" && !there {
					t.Errorf("%s: the board of %s is at %s, which is not there", file, name, value)
				}
			}
		}
	}
}

// TestKubernetesObjectsBelongTogether looks at what no schema does.
func TestKubernetesObjectsBelongTogether(t *testing.T) {
	f, err := os.Open("../../deploy/kubernetes/ramet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var kinds []string
	type object struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct{ Name string }
		Spec       struct {
			Selector    map[string]any
			ServiceName string `yaml:"serviceName"`
			Template    struct {
				Metadata struct{ Labels map[string]string }
				Spec     struct {
					Grace      int `yaml:"terminationGracePeriodSeconds"`
					Containers []struct {
						Args   []string
						Probes map[string]any `yaml:",inline"`
					}
				}
			}
		}
	}
	services := map[string]bool{}
	for d := yaml.NewDecoder(f); ; {
		var o object
		if d.Decode(&o) != nil {
			break
		}
		kinds = append(kinds, o.Kind)
		services[o.Metadata.Name] = services[o.Metadata.Name] || o.Kind == "Service"
		if o.Kind != "StatefulSet" {
			continue
		}
		if !services[o.Spec.ServiceName] {
			t.Errorf("the nodes have names from %s, which is no service before them", o.Spec.ServiceName)
		}
		if o.Spec.Template.Metadata.Labels["app.kubernetes.io/name"] != "ramet" {
			t.Error("no service finds the nodes")
		}
		if o.Spec.Template.Spec.Grace < 45 {
			t.Errorf("a node needs up to 45 s to stop, and has %d", o.Spec.Template.Spec.Grace)
		}
		for _, c := range o.Spec.Template.Spec.Containers {
			for probe, path := range map[string]string{"startupProbe": "/health", "livenessProbe": "/health", "readinessProbe": "/ready"} {
				at, _ := c.Probes[probe].(map[string]any)
				get, _ := at["httpGet"].(map[string]any)
				if get["path"] != path {
					t.Errorf("%s looks at %v, want %s", probe, get["path"], path)
				}
				period, _ := at["periodSeconds"].(int)
				if times, _ := at["failureThreshold"].(int); probe == "startupProbe" && period*times < 30*60 {
					t.Errorf("a node has %d s to start, and a Redis takes longer to load its data", period*times)
				}
			}
		}
	}
	if got := strings.Join(kinds, " "); got != "ConfigMap Service Service PodDisruptionBudget StatefulSet" {
		t.Errorf("there are %s", got)
	}
}
