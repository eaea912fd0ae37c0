package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
)

// TestEveryFlagFromEverySource sets each flag of each command by file, environment and command line, and checks which value the command
// sees.
func TestEveryFlagFromEverySource(t *testing.T) {
	t.Parallel()
	root := (&app{}).rootCommand()
	for i, path := range leaves(root) {
		for _, flag := range flagsOf(t, path) {
			if i > 0 && root.PersistentFlags().Lookup(flag.Name) != nil {
				continue // a global flag, which is tested once
			}
			t.Run(strings.Join(path, "_")+"/"+flag.Name, func(t *testing.T) {
				t.Parallel()
				testSources(t, path, flag)
			})
		}
	}
}

func testSources(t *testing.T, path []string, flag *pflag.Flag) {
	one, two := samples(t, flag)
	asFlag := []string{"--" + flag.Name + "=" + one}
	asEnv := map[string]string{flagconf.EnvName(flag.Name): two}
	asFile := fmt.Sprintf("%s: %s\n", flag.Name, yamlText(flag, one))

	assert.Equal(t, flag.DefValue, valueOf(t, path, flag.Name, nil, nil, ""), "default")
	assert.Equal(t, shown(flag, two), valueOf(t, path, flag.Name, nil, asEnv, ""), "environment over default")
	assert.Equal(t, shown(flag, one), valueOf(t, path, flag.Name, asFlag, asEnv, ""), "command line over environment")
	if flag.Name == flagconf.FileFlag {
		return
	}
	assert.Equal(t, shown(flag, one), valueOf(t, path, flag.Name, nil, nil, asFile), "file over default")
	assert.Equal(t, shown(flag, two), valueOf(t, path, flag.Name, nil, asEnv, asFile), "environment over file")
	asFile = fmt.Sprintf("%s: %s\n", flag.Name, yamlText(flag, two))
	assert.Equal(t, shown(flag, one), valueOf(t, path, flag.Name, asFlag, asEnv, asFile), "command line over all")
}

// samples returns two valid values for a flag. For most flags neither is the default.
func samples(t *testing.T, flag *pflag.Flag) (one, two string) {
	if flag.Name == "zoneinfo" {
		return "../zonedata/zones.zip", "../../internal/zonedata/zones.zip"
	}
	switch flag.Value.Type() {
	case "string", "stringArray":
		return "one", "two"
	case "int":
		return "11", "22"
	case "stringToInt":
		return "history=11", "history=22"
	case "float64":
		return "1.5", "2.5"
	case "bool":
		return "true", "false"
	case "duration":
		return "11s", "22s"
	case "enum":
		words := flag.Value.(*flagconf.Enum).Allowed()
		return words[1], words[0]
	}
	t.Fatalf("flag --%s has type %s, which this test does not know", flag.Name, flag.Value.Type())
	return "", ""
}

func yamlText(flag *pflag.Flag, value string) string {
	if flag.Value.Type() == "stringArray" {
		return "[" + value + "]"
	}
	return value
}

func shown(flag *pflag.Flag, value string) string {
	if kind := flag.Value.Type(); kind == "stringArray" || kind == "stringToInt" {
		return "[" + value + "]"
	}
	return value
}

// valueOf runs a command with the given sources and returns the value that it sees for a flag.
func valueOf(t *testing.T, path []string, name string, flags []string, env map[string]string, file string) string {
	t.Helper()
	p := &process{env: env, files: map[string]string{"settings.yaml": file, "one": "", "two": ""}}
	root := (&app{env: p.Env()}).rootCommand()
	cmd, _, err := root.Find(path)
	require.NoError(t, err)
	var value string
	cmd.Args = nil
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		value = cmd.Flags().Lookup(name).Value.String()
		return nil
	}
	args := append(append([]string{}, path...), flags...)
	if file != "" {
		args = append(args, "--config", "settings.yaml")
	}
	root.SetArgs(args)
	require.NoError(t, root.Execute())
	return value
}

// leaves returns the paths of all commands without subcommands.
func leaves(cmd *cobra.Command) [][]string {
	if !cmd.HasSubCommands() {
		return [][]string{strings.Fields(cmd.CommandPath())[1:]}
	}
	var paths [][]string
	for _, child := range cmd.Commands() {
		paths = append(paths, leaves(child)...)
	}
	return paths
}

func flagsOf(t *testing.T, path []string) []*pflag.Flag {
	cmd, _, err := (&app{}).rootCommand().Find(path)
	require.NoError(t, err)
	var flags []*pflag.Flag
	add := func(flag *pflag.Flag) {
		if flagconf.Configurable(flag) {
			flags = append(flags, flag)
		}
	}
	cmd.NonInheritedFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	require.NotEmpty(t, flags)
	return flags
}

// TestFlagsOfOneNameAreAlike makes sure that a setting in the file means the same to every command that takes it.
func TestFlagsOfOneNameAreAlike(t *testing.T) {
	t.Parallel()
	types := map[string]string{}
	for _, path := range leaves((&app{}).rootCommand()) {
		for _, flag := range flagsOf(t, path) {
			kind := flag.Value.Type()
			if known, ok := types[flag.Name]; ok {
				assert.Equal(t, known, kind, "--%s of %v", flag.Name, path)
			}
			types[flag.Name] = kind
		}
	}
}
