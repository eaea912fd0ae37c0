package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	dashboards = "grafana/dashboards"
	// gridWidth is how many columns a dashboard has.
	gridWidth = 24
	// oldestSchema is the schema of Grafana 11.0; later releases bring it up to date by themselves.
	oldestSchema = 39
)

// dashboard is what is looked at of a dashboard of Grafana.
type dashboard struct {
	ID            *int     `json:"id"`
	UID           string   `json:"uid"`
	Title         string   `json:"title"`
	Description   string   `json:"description"`
	SchemaVersion int      `json:"schemaVersion"`
	Tags          []string `json:"tags"`
	Panels        []panel  `json:"panels"`
	Templating    struct {
		List []variable `json:"list"`
	} `json:"templating"`
}

type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	GridPos     box    `json:"gridPos"`
	Datasource  struct {
		UID string `json:"uid"`
	} `json:"datasource"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []target `json:"targets"`
	Panels  []panel  `json:"panels"`
}

type box struct{ X, Y, W, H int }

type target struct {
	RefID  string `json:"refId"`
	Expr   string `json:"expr"`
	Legend string `json:"legendFormat"`
}

type variable struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Query any    `json:"query"`
}

// overlaps is true if two panels would lie on each other.
func (b box) overlaps(other box) bool {
	return b.X < other.X+other.W && other.X < b.X+b.W && b.Y < other.Y+other.H && other.Y < b.Y+b.H
}

// loadDashboards returns all dashboards by the name of their file.
func loadDashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dashboards, "*.json"))
	require.NoError(t, err)
	all := map[string]dashboard{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var d dashboard
		require.NoError(t, json.Unmarshal(text, &d), file)
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = d
	}
	return all
}

// allPanels returns the panels that show something: all but the rows they stand under.
func (d *dashboard) allPanels() []panel {
	var all []panel
	for _, p := range d.Panels {
		if p.Type != "row" {
			all = append(all, p)
		}
		all = append(all, p.Panels...)
	}
	return all
}

// TestDashboards have a name, a place for each panel, and say what they show.
func TestDashboards(t *testing.T) {
	t.Parallel()
	all := loadDashboards(t)
	assert.Equal(t, []string{"carillon-internals", "carillon-key-figures", "carillon-overview", "carillon-schedule", "carillon-task-queue", "carillon-workflows"},
		slices.Sorted(maps.Keys(all)))
	for file, d := range all {
		assert.Equal(t, file, d.UID, "a dashboard is found by its UID, in links too")
		assert.Nil(t, d.ID, "%s: the ID is Grafana's own", file)
		assert.NotEmpty(t, d.Title, file)
		assert.NotEmpty(t, d.Description, file)
		assert.Contains(t, d.Tags, "carillon", file)
		assert.GreaterOrEqual(t, d.SchemaVersion, oldestSchema, file)
		ids, titles := map[int]bool{}, map[string]bool{}
		for i, p := range d.Panels {
			assert.False(t, ids[p.ID], "%s: two panels have the ID %d", file, p.ID)
			assert.False(t, titles[p.Title], "%s: two panels have the title %s", file, p.Title)
			ids[p.ID], titles[p.Title] = true, true
			assert.LessOrEqual(t, p.GridPos.X+p.GridPos.W, gridWidth, "%s: %s", file, p.Title)
			for _, other := range d.Panels[:i] {
				assert.False(t, p.GridPos.overlaps(other.GridPos), "%s: %s lies on %s", file, p.Title, other.Title)
			}
		}
		for _, p := range d.allPanels() {
			checkPanel(t, file+": "+p.Title, p)
		}
	}
}

func checkPanel(t *testing.T, where string, p panel) {
	t.Helper()
	assert.NotEmpty(t, p.Title, where)
	assert.True(t, strings.HasSuffix(p.Description, "."), "%s: the description is a sentence", where)
	assert.NotEmpty(t, p.FieldConfig.Defaults.Unit, "%s has no unit", where)
	assert.Equal(t, "${datasource}", p.Datasource.UID, where)
	assert.NotEmpty(t, p.Targets, where)
	refs := map[string]bool{}
	for _, query := range p.Targets {
		assert.False(t, refs[query.RefID], "%s: two queries are called %s", where, query.RefID)
		refs[query.RefID] = true
	}
}

var legendLabel = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

// TestDashboardsNameWhatExists: metrics, the labels of matchers, groups and legends, and other dashboards.
func TestDashboardsNameWhatExists(t *testing.T) {
	t.Parallel()
	known, all := loadCatalogue(t), loadDashboards(t)
	for file, d := range all {
		for _, p := range d.allPanels() {
			where := file + ": " + p.Title
			for _, query := range p.Targets {
				result, _, err := labelsOf(known, query.Expr)
				if !assert.NoError(t, err, where) {
					continue
				}
				for _, label := range legendLabel.FindAllStringSubmatch(query.Legend, -1) {
					assert.True(t, result[label[1]], "%s: the legend names %s, the labels are %s", where, label[1], result)
				}
			}
		}
		text, err := os.ReadFile(filepath.Join(dashboards, file+".json"))
		require.NoError(t, err)
		for _, link := range regexp.MustCompile(`/d/([\w-]+)`).FindAllStringSubmatch(string(text), -1) {
			assert.Contains(t, all, link[1], "%s links to it", file)
		}
	}
}

var (
	variableUse  = regexp.MustCompile(`\$\{?(\w+)`)
	labelsLookup = regexp.MustCompile(`^label_values\((.*),\s*(\w+)\)$`)
)

// TestVariablesOfDashboards are defined if they are used, used if they are defined, and take their values from labels that
// exist.
func TestVariablesOfDashboards(t *testing.T) {
	t.Parallel()
	known := loadCatalogue(t)
	for file, d := range loadDashboards(t) {
		defined, used := labels{}, labelSet("datasource")
		for _, v := range d.Templating.List {
			defined[v.Name] = true
			if v.Type != "query" {
				continue
			}
			query := lookupOf(v)
			for _, use := range variableUse.FindAllStringSubmatch(query, -1) {
				used[use[1]] = true
			}
			lookup := labelsLookup.FindStringSubmatch(query)
			require.NotNil(t, lookup, "%s: %s is not a lookup of labels: %s", file, v.Name, query)
			result, _, err := labelsOf(known, lookup[1])
			require.NoError(t, err, "%s: %s", file, v.Name)
			assert.True(t, result[lookup[2]], "%s: %s has no label %s", file, lookup[1], lookup[2])
		}
		for _, p := range d.allPanels() {
			for _, query := range p.Targets {
				for _, use := range variableUse.FindAllStringSubmatch(query.Expr, -1) {
					if !strings.HasPrefix(use[1], "__") {
						used[use[1]] = true
					}
				}
			}
		}
		assert.Equal(t, used, defined, "%s: variables used, and defined", file)
	}
}

// lookupOf returns the query of a variable: a text, or an object with one.
func lookupOf(v variable) string {
	if object, ok := v.Query.(map[string]any); ok {
		return fmt.Sprint(object["query"])
	}
	return fmt.Sprint(v.Query)
}

// TestProvisioning tells Grafana of a Prometheus, and of the folder where the dashboards are mounted.
func TestProvisioning(t *testing.T) {
	t.Parallel()
	var sources struct {
		Datasources []struct{ Name, UID, Type, URL string }
	}
	readYAML(t, "grafana/provisioning/datasources/carillon.yml", &sources)
	require.Len(t, sources.Datasources, 1)
	assert.Equal(t, "prometheus", sources.Datasources[0].Type)
	var folders struct {
		Providers []struct {
			Type    string
			Options struct{ Path string }
		}
	}
	readYAML(t, "grafana/provisioning/dashboards/carillon.yml", &folders)
	require.Len(t, folders.Providers, 1)
	assert.Equal(t, "file", folders.Providers[0].Type)
	assert.Equal(t, "/var/lib/grafana/dashboards", folders.Providers[0].Options.Path)
}
