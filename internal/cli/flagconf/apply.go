package flagconf

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	// envPrefix begins the names of all environment variables.
	envPrefix = "CARILLON_"
	// FileFlag is the flag that names the configuration file. It is the only flag that the file itself cannot set.
	FileFlag = "config"
	// alsoAnnotation begins the annotation of a command that names another environment variable for a flag.
	alsoAnnotation = "also-env-"
	// helpFlag asks for help instead of setting anything.
	helpFlag = "help"
)

// EnvName returns the environment variable of a flag.
func EnvName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Configurable reports whether a flag has an environment variable: every flag but --help.
func Configurable(flag *pflag.Flag) bool { return flag.Name != helpFlag }

// Sources says where settings come from besides the command line.
type Sources struct {
	// LookupEnv is like [os.LookupEnv]. A variable set to the empty string counts as not set.
	LookupEnv func(name string) (string, bool)
	// ReadFile is like [os.ReadFile].
	ReadFile func(path string) ([]byte, error)
}

// Apply sets the flags of cmd that the command line does not set: first from the environment, then from the file. The error names the
// setting in the words of its source.
func Apply(cmd *cobra.Command, sources Sources) error {
	if err := applyEnv(cmd, sources.LookupEnv); err != nil {
		return err
	}
	return applyFile(cmd, sources.ReadFile)
}

// AlsoEnv lets a command take a flag from one more environment variable, which counts less than [EnvName]. The flag may be a global one.
func AlsoEnv(cmd *cobra.Command, flag, variable string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[alsoAnnotation+flag] = variable
}

func applyEnv(cmd *cobra.Command, lookup func(string) (string, bool)) error {
	flags := cmd.Flags()
	return visitUnset(flags, func(flag *pflag.Flag) error {
		name := EnvName(flag.Name)
		text, _ := lookup(name)
		if also := cmd.Annotations[alsoAnnotation+flag.Name]; text == "" && also != "" {
			name = also
			text, _ = lookup(name)
		}
		if text == "" {
			return nil
		}
		if err := set(flags, flag, split(flag, text)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		note(flag, environmentAnnotation, name)
		return nil
	})
}

func applyFile(cmd *cobra.Command, read func(string) ([]byte, error)) error {
	path, _ := cmd.Flags().GetString(FileFlag)
	if path == "" {
		return nil
	}
	data, err := read(path)
	if err != nil {
		return fmt.Errorf("--%s: %w", FileFlag, err)
	}
	file, err := parseFile(path, data, settings(cmd.Root()))
	if err != nil {
		return err
	}
	return visitUnset(cmd.Flags(), func(flag *pflag.Flag) error {
		setting, ok := file[flag.Name]
		if !ok {
			return nil
		}
		if err := set(cmd.Flags(), flag, setting.values); err != nil {
			return fmt.Errorf("%s:%d: %s: %w", path, setting.line, flag.Name, err)
		}
		note(flag, fileAnnotation, path)
		return nil
	})
}

// visitUnset calls visit for every configurable flag that no earlier source has set, and joins the errors.
func visitUnset(flags *pflag.FlagSet, visit func(*pflag.Flag) error) error {
	var errs []error
	flags.VisitAll(func(flag *pflag.Flag) {
		if Configurable(flag) && !flag.Changed {
			errs = append(errs, visit(flag))
		}
	})
	return errors.Join(errs...)
}

// split cuts the value of an environment variable into lines, for a flag that can be repeated. Commas would not work: cron expressions and
// JSON contain them.
func split(flag *pflag.Flag, text string) []string {
	if _, repeatable := flag.Value.(pflag.SliceValue); !repeatable {
		return []string{text}
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

func set(flags *pflag.FlagSet, flag *pflag.Flag, values []string) error {
	if slice, repeatable := flag.Value.(pflag.SliceValue); repeatable {
		if err := slice.Replace(values); err != nil {
			return err
		}
		flag.Changed = true
		return nil
	}
	if len(values) != 1 {
		return errors.New("takes one value, not a list")
	}
	if err := flags.Set(flag.Name, values[0]); err != nil {
		return Reason(flag, values[0], err)
	}
	return nil
}

// Reason says in the user's words why a flag refuses a value.
func Reason(flag *pflag.Flag, value string, err error) error {
	switch flag.Value.Type() {
	case "int":
		return fmt.Errorf("%q is not a whole number", value)
	case "bool":
		return fmt.Errorf("%q is neither true nor false", value)
	case "float64":
		return fmt.Errorf("%q is not a number", value)
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return invalid.Unwrap()
	}
	return err
}

// Enum is the value of a flag that takes one of a few words. It implements pflag.Value.
type Enum struct {
	target  *string
	allowed []string
}

// NewEnum returns a flag value that stores into target, which keeps its content as the default.
func NewEnum(target *string, allowed ...string) *Enum { return &Enum{target: target, allowed: allowed} }

// String returns the chosen word.
func (e *Enum) String() string { return *e.target }

// Set chooses a word.
func (e *Enum) Set(text string) error {
	if !slices.Contains(e.allowed, text) {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(e.allowed, ", "))
	}
	*e.target = text
	return nil
}

// Type returns "enum".
func (e *Enum) Type() string { return "enum" }

// Allowed returns the words, for help and tests.
func (e *Enum) Allowed() []string { return slices.Clone(e.allowed) }
