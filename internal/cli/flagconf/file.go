package flagconf

import (
	"errors"
	"fmt"
	"slices"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// setting is one key of the file.
type setting struct {
	line   int
	values []string
}

// settings returns, in order, the names for which any command of the tree has a flag.
func settings(root *cobra.Command) []string {
	var names []string
	add := func(flag *pflag.Flag) {
		if Configurable(flag) && flag.Name != FileFlag {
			names = append(names, flag.Name)
		}
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(add)
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(root)
	slices.Sort(names)
	return slices.Compact(names)
}

func parseFile(path string, data []byte, known []string) (map[string]setting, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if document.Kind == 0 { // only comments
		return nil, nil
	}
	mapping := document.Content[0]
	if mapping.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: must be a list of settings, one \"name: value\" a line", path, mapping.Line)
	}
	file := make(map[string]setting, len(mapping.Content)/2)
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		if err := checkKey(key.Value, file, known); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, key.Line, err)
		}
		values, err := texts(value)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", path, value.Line, key.Value, err)
		}
		file[key.Value] = setting{line: key.Line, values: values}
	}
	return file, nil
}

func checkKey(key string, file map[string]setting, known []string) error {
	if key == FileFlag {
		return fmt.Errorf("%q cannot be set in the file it names", key)
	}
	if !slices.Contains(known, key) {
		return fmt.Errorf("unknown setting %q%s", key, Suggest(key, known, ""))
	}
	if _, twice := file[key]; twice {
		return fmt.Errorf("%q is set twice", key)
	}
	return nil
}

// texts returns the value of a key in the form that the command line would have.
func texts(value *yaml.Node) ([]string, error) {
	for value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	switch {
	case value.Kind == yaml.ScalarNode && value.Tag == "!!null":
		return nil, errors.New("has no value")
	case value.Kind == yaml.ScalarNode:
		return []string{value.Value}, nil
	case value.Kind == yaml.SequenceNode:
		var all []string
		for _, item := range value.Content {
			if item.Kind != yaml.ScalarNode {
				return nil, errors.New("must be a list of plain values")
			}
			all = append(all, item.Value)
		}
		return all, nil
	}
	return nil, errors.New("must be a plain value or a list of plain values")
}

// Suggest returns `; did you mean "nearest"?`, with a prefix such as "--" before the name. It returns "" if no known name is similar.
func Suggest(name string, known []string, prefix string) string {
	best, bestDistance := "", 0
	for _, candidate := range known {
		distance := levenshtein.ComputeDistance(name, candidate)
		tooFar := distance > 1+len(candidate)/4
		if tooFar || best != "" && distance >= bestDistance {
			continue
		}
		best, bestDistance = candidate, distance
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", prefix+best)
}
