package systemtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// values are values of a chart, or any other YAML.
type values = map[string]any

// renderChart renders the templates of the chart as Helm does, with values over those of values.yaml. It knows only the
// functions that our templates use.
func renderChart(t *testing.T, over values) []values {
	t.Helper()
	objects, err := tryChart(t, over)
	require.NoError(t, err)
	return objects
}

// tryChart is renderChart for values that the templates may refuse.
func tryChart(t *testing.T, over values) ([]values, error) {
	t.Helper()
	chart := filepath.Join(deployDir, "helm/carillon")
	var described, all values
	require.NoError(t, yaml.Unmarshal([]byte(readFile(t, chart, "Chart.yaml")), &described))
	require.NoError(t, yaml.Unmarshal([]byte(readFile(t, chart, "values.yaml")), &all))
	data := values{
		"Values":  merged(all, over),
		"Release": values{"Name": "test", "Namespace": "scheduling", "Service": "Helm"},
		"Chart":   values{"Name": described["name"], "Version": described["version"], "AppVersion": described["appVersion"]},
	}
	root := template.New("chart").Option("missingkey=zero")
	root.Funcs(chartFunctions(root))
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	require.NoError(t, err)
	require.Greater(t, len(files), 5)
	for _, file := range files {
		_, err := root.New(filepath.Base(file)).Parse(readFile(t, file))
		require.NoError(t, err)
	}
	var objects []values
	for _, file := range files {
		var out bytes.Buffer
		if err := root.ExecuteTemplate(&out, filepath.Base(file), data); err != nil {
			return nil, err
		}
		if strings.HasSuffix(file, ".yaml") {
			objects = append(objects, documents(t, out.String())...)
		}
	}
	return objects, nil
}

// documents are the YAML documents of a text that are not empty.
func documents(t *testing.T, text string) (all []values) {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var one values
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err, text)
		if len(one) > 0 {
			all = append(all, one)
		}
	}
}

// merged returns values with others over them. It changes neither.
func merged(under values, over ...values) values {
	all := maps.Clone(under)
	for _, o := range over {
		for name, value := range o {
			lower, ok1 := all[name].(values)
			upper, ok2 := value.(values)
			if ok1 && ok2 {
				value = merged(lower, upper)
			}
			all[name] = value
		}
	}
	return all
}

// chartFunctions are the functions of Helm that the chart uses.
func chartFunctions(root *template.Template) template.FuncMap {
	return template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var out bytes.Buffer
			err := root.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
		"toYaml":             toYAML,
		"fromYaml":           func(text string) (all values, err error) { return all, yaml.Unmarshal([]byte(text), &all) },
		"dict":               dict,
		"set":                func(d values, name string, value any) values { d[name] = value; return d },
		"deepCopy":           func(d values) values { return merged(d) },
		"mustMergeOverwrite": merged,
		"required":           required,
		"fail":               func(why string) (string, error) { return "", errors.New(why) },
		"default": func(fallback, value any) any {
			if truth, ok := template.IsTrue(value); ok && truth {
				return value
			}
			return fallback
		},
		"nindent": func(n int, text string) string {
			margin := strings.Repeat(" ", n)
			return "\n" + margin + strings.ReplaceAll(text, "\n", "\n"+margin)
		},
		"quote":      func(value any) string { return fmt.Sprintf("%q", fmt.Sprint(value)) },
		"trunc":      func(n int, text string) string { return text[:min(n, len(text))] },
		"trimSuffix": func(suffix, text string) string { return strings.TrimSuffix(text, suffix) },
		"contains":   func(part, text string) bool { return strings.Contains(text, part) },
		"replace":    func(from, to, text string) string { return strings.ReplaceAll(text, from, to) },
		"upper":      strings.ToUpper,
		"int":        func(n int) int { return n },
		"regexMatch": regexp.MatchString,
		"until": func(n int) []int {
			numbers := make([]int, n)
			for i := range numbers {
				numbers[i] = i
			}
			return numbers
		},
	}
}

func toYAML(value any) (string, error) {
	text, err := yaml.Marshal(value)
	return strings.TrimSuffix(string(text), "\n"), err
}

func dict(pairs ...any) values {
	all := values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		all[pairs[i].(string)] = pairs[i+1]
	}
	return all
}

func required(why string, value any) (any, error) {
	if value == nil || value == "" {
		return nil, errors.New(why)
	}
	return value, nil
}
