package flagconf_test

import (
	"io/fs"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
)

// tree is a small program: a command with two flags of its own, and another command.
type tree struct {
	root, cmd *cobra.Command
	level     string
	every     []string
	count     int
}

func newTree(t *testing.T, args ...string) *tree {
	t.Helper()
	noop := func(*cobra.Command, []string) {}
	p := &tree{root: &cobra.Command{Use: "root"}, cmd: &cobra.Command{Use: "create", Run: noop}, level: "low"}
	other := &cobra.Command{Use: "other", Run: noop}
	p.root.PersistentFlags().String(flagconf.FileFlag, "", "")
	p.root.PersistentFlags().Var(flagconf.NewEnum(&p.level, "low", "high"), "level", "")
	p.cmd.Flags().StringArrayVar(&p.every, "every", nil, "")
	p.cmd.Flags().IntVar(&p.count, "count", 7, "")
	other.Flags().String("data-dir", "", "")
	p.root.AddCommand(p.cmd, other)
	p.root.SetArgs(append([]string{"create"}, args...))
	require.NoError(t, p.root.Execute())
	return p
}

func (p *tree) apply(env map[string]string, file string) error {
	return flagconf.Apply(p.cmd, flagconf.Sources{
		LookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok },
		ReadFile: func(path string) ([]byte, error) {
			if path != "file.yaml" {
				return nil, fs.ErrNotExist
			}
			return []byte(file), nil
		},
	})
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	p := newTree(t, "--config", "file.yaml", "--count", "1")
	env := map[string]string{"CARILLON_COUNT": "2", "CARILLON_LEVEL": "high"}
	require.NoError(t, p.apply(env, "count: 3\nlevel: low\nevery: [5s, 1h]\ndata-dir: /elsewhere\n"))
	assert.Equal(t, 1, p.count, "the command line wins")
	assert.Equal(t, "high", p.level, "the environment wins over the file")
	assert.Equal(t, []string{"5s", "1h"}, p.every, "the file wins over the default")
	assert.True(t, p.cmd.Flags().Changed("every"), "whatever the source, the flag is given")
}

// TestAlsoEnv: another program's variable counts less than that of this program, and more than the file.
func TestAlsoEnv(t *testing.T) {
	t.Parallel()
	p := newTree(t, "--config", "file.yaml")
	flagconf.AlsoEnv(p.cmd, "count", "OTHER_COUNT")
	flagconf.AlsoEnv(p.cmd, "level", "OTHER_LEVEL")
	env := map[string]string{"OTHER_COUNT": "2", "OTHER_LEVEL": "low", "CARILLON_LEVEL": "high"}
	require.NoError(t, p.apply(env, "count: 3\n"))
	assert.Equal(t, 2, p.count)
	assert.Equal(t, "high", p.level)
	_, text := flagconf.SourceOf(p.cmd.Flags().Lookup("count"))
	assert.Equal(t, "OTHER_COUNT", text)
	p = newTree(t)
	flagconf.AlsoEnv(p.cmd, "count", "OTHER_COUNT")
	require.ErrorContains(t, p.apply(map[string]string{"OTHER_COUNT": "x"}, ""), "OTHER_COUNT: ")
}

func TestSourceOf(t *testing.T) {
	t.Parallel()
	p := newTree(t, "--config", "file.yaml", "--count", "1")
	require.NoError(t, p.apply(map[string]string{"CARILLON_LEVEL": "high"}, "every: [5s]\n"))
	for name, want := range map[string]struct {
		source flagconf.Source
		text   string
	}{
		"count": {flagconf.CommandLine, "--count"},
		"level": {flagconf.Environment, "CARILLON_LEVEL"},
		"every": {flagconf.File, "every in file.yaml"},
		"help":  {flagconf.Default, "--help"},
	} {
		source, text := flagconf.SourceOf(p.cmd.Flags().Lookup(name))
		assert.Equal(t, want.source, source, name)
		assert.Equal(t, want.text, text)
	}
	assert.True(t, flagconf.CommandLine > flagconf.Environment && flagconf.Environment > flagconf.File && flagconf.File > flagconf.Default)
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	p := newTree(t)
	require.NoError(t, p.apply(map[string]string{"CARILLON_COUNT": ""}, ""))
	assert.Equal(t, 7, p.count, "an empty variable is not set")
	assert.False(t, p.cmd.Flags().Changed("count"))
}

func TestListsInTheEnvironment(t *testing.T) {
	t.Parallel()
	p := newTree(t)
	require.NoError(t, p.apply(map[string]string{"CARILLON_EVERY": "5s,1m\n1h\n"}, ""))
	assert.Equal(t, []string{"5s,1m", "1h"}, p.every, "lines make a list, commas do not")
}

func TestFileNamedByTheEnvironment(t *testing.T) {
	t.Parallel()
	p := newTree(t)
	require.NoError(t, p.apply(map[string]string{"CARILLON_CONFIG": "file.yaml"}, "count: 3"))
	assert.Equal(t, 3, p.count)
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env  map[string]string
		file string
		want string
	}{
		"environment, number":  {env: map[string]string{"CARILLON_COUNT": "many"}, want: `CARILLON_COUNT: "many" is not a whole number`},
		"environment, word":    {env: map[string]string{"CARILLON_LEVEL": "mid"}, want: `CARILLON_LEVEL: "mid" is not one of low, high`},
		"file, value":          {file: "# note\n\ncount: many", want: `file.yaml:3: count: "many" is not a whole number`},
		"file, unknown":        {file: "cuont: 1", want: `file.yaml:1: unknown setting "cuont"; did you mean "count"?`},
		"file, nothing near":   {file: "xyzzyplugh: 1", want: `file.yaml:1: unknown setting "xyzzyplugh"`},
		"file, of another":     {file: "datadir: x", want: `file.yaml:1: unknown setting "datadir"; did you mean "data-dir"?`},
		"file, itself":         {file: "config: x", want: `file.yaml:1: "config" cannot be set in the file it names`},
		"file, twice":          {file: "count: 1\ncount: 2", want: `file.yaml:2: "count" is set twice`},
		"file, list for one":   {file: "count: [1, 2]", want: `file.yaml:1: count: takes one value, not a list`},
		"file, null":           {file: "level:", want: `file.yaml:1: level: has no value`},
		"file, mapping":        {file: "level: {a: b}", want: `file.yaml:1: level: must be a plain value or a list of plain values`},
		"file, nested list":    {file: "every: [[a]]", want: `file.yaml:1: every: must be a list of plain values`},
		"file, not a mapping":  {file: "- count", want: `file.yaml:1: must be a list of settings, one "name: value" a line`},
		"file, not YAML":       {file: "a: b: c", want: `file.yaml: yaml: mapping values are not allowed in this context`},
		"file, does not exist": {env: map[string]string{"CARILLON_CONFIG": "none.yaml"}, want: `--config: file does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var args []string
			if test.file != "" {
				args = []string{"--config", "file.yaml"}
			}
			assert.ErrorContains(t, newTree(t, args...).apply(test.env, test.file), test.want)
		})
	}
}

func TestEmptyFile(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"", "# nothing\n"} {
		assert.NoError(t, newTree(t, "--config", "file.yaml").apply(nil, file))
	}
}

func TestEnvName(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "CARILLON_KEEP_ORIGINAL_WORKFLOW_ID", flagconf.EnvName("keep-original-workflow-id"))
}
