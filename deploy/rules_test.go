package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const (
	rulesHome = "prometheus"
	runbooks  = "../docs/runbooks"
	// runbookURL is where people find the runbooks.
	runbookURL = "https://github.com/carillon-scheduler/carillon/blob/main/docs/runbooks/"
)

// rule is an alert, or a series that is recorded.
type rule struct {
	Alert       string            `yaml:"alert"`
	Record      string            `yaml:"record"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// loadRules returns the rules of all files.
func loadRules(t *testing.T) []rule {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(rulesHome, "*.rules.yml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var all []rule
	for _, file := range files {
		var content struct {
			Groups []struct {
				Rules []rule `yaml:"rules"`
			} `yaml:"groups"`
		}
		readYAML(t, file, &content)
		for _, group := range content.Groups {
			all = append(all, group.Rules...)
		}
	}
	return all
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, into), file)
}

// alerts returns the rules that alert.
func alerts(t *testing.T) []rule {
	t.Helper()
	var all []rule
	for _, r := range loadRules(t) {
		if r.Alert != "" {
			all = append(all, r)
		}
	}
	return all
}

// textLabel is a label in the text of an alert.
var textLabel = regexp.MustCompile(`\$labels\.(\w+)`)

// TestRulesNameWhatExists: metrics, and the labels of matchers, groups and texts.
func TestRulesNameWhatExists(t *testing.T) {
	t.Parallel()
	known := loadCatalogue(t)
	for _, r := range loadRules(t) {
		name := r.Alert + r.Record
		result, used, err := labelsOf(known, r.Expr)
		if !assert.NoError(t, err, name) {
			continue
		}
		assert.NotEmpty(t, used, name)
		for _, text := range r.Annotations {
			for _, label := range textLabel.FindAllStringSubmatch(text, -1) {
				assert.True(t, result[label[1]], "%s: the text names %s, the labels are %s", name, label[1], result)
			}
		}
	}
}

// TestAlertsAreComplete: each says how bad it is, what is wrong and where to go on reading, and is told apart from a
// moment's trouble.
func TestAlertsAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, a := range alerts(t) {
		assert.False(t, seen[a.Alert], "%s is there twice", a.Alert)
		seen[a.Alert] = true
		assert.True(t, strings.HasPrefix(a.Alert, "Carillon"), a.Alert)
		assert.Contains(t, []string{"critical", "warning"}, a.Labels["severity"], a.Alert)
		assert.NotEmpty(t, a.For, a.Alert)
		assert.NotEmpty(t, a.Annotations["summary"], a.Alert)
		assert.True(t, strings.HasSuffix(a.Annotations["description"], "."), "%s: the description is a sentence", a.Alert)
		assert.Equal(t, runbookURL+a.Alert+".md", a.Annotations["runbook_url"], a.Alert)
	}
}

// TestAlertsAreTested: the unit tests of the rules see each alert fire, and each not fire.
func TestAlertsAreTested(t *testing.T) {
	t.Parallel()
	var file struct {
		Tests []struct {
			AlertRuleTest []struct {
				AlertName string `yaml:"alertname"`
				ExpAlerts []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		} `yaml:"tests"`
	}
	readYAML(t, filepath.Join(rulesHome, "rules_test.yml"), &file)
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, look := range test.AlertRuleTest {
			if len(look.ExpAlerts) > 0 {
				fires[look.AlertName] = true
			} else {
				silent[look.AlertName] = true
			}
		}
	}
	for _, a := range alerts(t) {
		assert.True(t, fires[a.Alert], "no test sees %s fire", a.Alert)
		assert.True(t, silent[a.Alert], "no test sees %s keep silent", a.Alert)
	}
}

// TestPrometheusConfiguration loads the rules that are here, and scrapes the job that they name.
func TestPrometheusConfiguration(t *testing.T) {
	t.Parallel()
	var config struct {
		RuleFiles []string `yaml:"rule_files"`
		Scrape    []struct {
			Job string `yaml:"job_name"`
		} `yaml:"scrape_configs"`
	}
	readYAML(t, filepath.Join(rulesHome, "prometheus.yml"), &config)
	var jobs []string
	for _, scrape := range config.Scrape {
		jobs = append(jobs, scrape.Job)
	}
	assert.Contains(t, jobs, "carillon")
	for _, pattern := range config.RuleFiles {
		files, err := filepath.Glob(filepath.Join(rulesHome, pattern))
		require.NoError(t, err)
		assert.NotEmpty(t, files, pattern)
	}
	for _, r := range loadRules(t) {
		for _, job := range regexp.MustCompile(`job="([^"]*)"`).FindAllStringSubmatch(r.Expr, -1) {
			assert.Contains(t, jobs, job[1], r.Alert+r.Record)
		}
	}
}
