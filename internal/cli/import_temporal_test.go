package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/golden"
)

func temporalFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "importer", "temporal", "testdata", name))
	require.NoError(t, err)
	return data
}

// TestImportTemporal compares the whole output with a golden file, and checks that apply could read it.
func TestImportTemporal(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nightly", "stream", "list", "nightly-run", "stream-run", "list-run"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, isRun := strings.CutSuffix(name, "-run")
			file += ".json"
			p := process{files: map[string]string{file: string(temporalFile(t, file))}}
			args := []string{"import", "temporal-json", file}
			if isRun {
				args = append(args, "--as", "run")
			}
			require.Equal(t, ExitOK, p.run(t.Context(), args...), p.stderr.String())
			golden.Equal(t, "temporal/"+name+".yaml", p.stdout.String())
			golden.Equal(t, "temporal/"+name+".txt", p.stderr.String())
			env := Env{Stdin: strings.NewReader(p.stdout.String())}
			_, err := env.readManifests("-", "default")
			require.NoError(t, err, "apply reads it")
		})
	}
}

func TestIDOfFile(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "nightly", idOfFile("x/nightly.json"))
	assert.Empty(t, idOfFile("-"))
}

func TestImportTemporalOfNoType(t *testing.T) {
	t.Parallel()
	p := process{files: map[string]string{"x.json": `{"schedule": {"action": {"startWorkflow": {"taskQueue": {"name": "q"}}}}}`}}
	assert.Equal(t, ExitUsage, p.run(t.Context(), "import", "temporal-json", "x.json"))
	assert.Equal(t, "error: Temporal schedule x: action.type: is empty: use 1 to 255 bytes of text\n", p.stderr.String())
}
