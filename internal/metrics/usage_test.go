package metrics_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// TestEveryInstrumentIsRecorded looks for uses of each variable of the catalogue outside the package.
func TestEveryInstrumentIsRecorded(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	use := regexp.MustCompile(`\bmetrics\.([A-Z]\w*)`)
	for path, text := range sources(t) {
		if strings.Contains(text, `carillon/internal/metrics"`) {
			for _, name := range use.FindAllStringSubmatch(text, -1) {
				used[name[1]] = true
			}
			assert.NotContains(t, text, "otel.Meter(", path)
		}
	}
	names := declared(t)
	require.Greater(t, len(names), 50)
	for _, name := range names {
		assert.True(t, used[name], "metrics.%s is in the catalogue, and nobody records it", name)
	}
}

// TestNoOtherInstruments: an instrument outside the catalogue is on no page and no dashboard.
func TestNoOtherInstruments(t *testing.T) {
	t.Parallel()
	makes := regexp.MustCompile(
		`\.(Int64|Float64)(Observable)?(Counter|UpDownCounter|Histogram|Gauge)\(|otel\.Meter\(|\.GetMeterProvider\(`)
	for path, text := range sources(t) {
		assert.Empty(t, makes.FindString(text), path)
	}
}

// declared returns the variables of the catalogue.
func declared(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("catalogue_*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && ast.IsExported(spec.Names[0].Name) {
				names = append(names, spec.Names[0].Name)
			}
			return true
		})
	}
	return names
}

// sources returns the Go files of the program by path, without tests and without this package.
func sources(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == filepath.Join(root, "internal", "metrics") || isSkipped(name)):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		texts[path] = string(text)
		return err
	})
	require.NoError(t, err)
	return texts
}

func isSkipped(folder string) bool {
	hidden := folder != ".." && strings.HasPrefix(folder, ".")
	return hidden || slices.Contains([]string{"examples", "testdata"}, folder)
}
