package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
	"github.com/carillon-scheduler/carillon/schedule"
)

// binder defines flags that fill in a request. It applies only the flags that were given, in the order of their definition. They replace
// what a file has set, and leave the rest alone.
type binder struct {
	flags   *pflag.FlagSet
	applies []func() error
	bound   []*pflag.Flag
}

// given reports whether any of the flags was given.
func (b *binder) given() bool {
	return slices.ContainsFunc(b.bound, func(flag *pflag.Flag) bool { return flag.Changed })
}

// apply fills in the request.
func (b *binder) apply() error {
	for _, apply := range b.applies {
		if err := apply(); err != nil {
			return err
		}
	}
	return nil
}

// onGiven runs set if the flag was given. It adds the name of the flag to the error.
func (b *binder) onGiven(name string, set func() error) {
	flag := b.flags.Lookup(name)
	b.bound = append(b.bound, flag)
	b.applies = append(b.applies, func() error {
		if !flag.Changed {
			return nil
		}
		if err := set(); err != nil {
			return usagef("--%s: %w", name, err)
		}
		return nil
	})
}

// exclusive declares that some flags exclude each other: the one from the stronger source counts. Call it before defining them.
func (b *binder) exclusive(stderr io.Writer, all ...string) {
	b.applies = append(b.applies, func() error { return alternatives(all).choose(stderr, b.flags) })
}

func (b *binder) bool(name, usage string, to *bool) {
	value := b.flags.Bool(name, false, usage)
	b.onGiven(name, func() error { *to = *value; return nil })
}

func (b *binder) int(name, usage string, to *int) {
	value := b.flags.Int(name, 0, usage)
	b.onGiven(name, func() error { *to = *value; return nil })
}

func (b *binder) float(name, usage string, to *float64) {
	value := b.flags.Float64(name, 0, usage)
	b.onGiven(name, func() error { *to = *value; return nil })
}

func (b *binder) string(name, usage string, to *string) {
	value := b.flags.String(name, "", usage)
	b.onGiven(name, func() error { *to = *value; return nil })
}

func (b *binder) duration(name, usage string, to *schedule.Duration) {
	parsed(b, name, usage, to, schedule.ParseDuration)
}

// input defines the flags for the input of an action.
func (b *binder) input(env Env, to *json.RawMessage, usage string) {
	b.exclusive(env.Stderr, "input", "input-file")
	parsed(b, "input", usage+" as `JSON`, @FILE, or @- for standard input", to, env.jsonReader())
	parsed(b, "input-file", "`FILE` of that JSON, - for standard input", to, env.jsonFileReader())
}

// overlap defines the flag of an overlap policy.
func (b *binder) overlap(to *schedule.OverlapPolicy, usage string) {
	oneOf(b, "overlap", usage, to, schedule.OverlapPolicies()...)
}

// oneOf defines a flag that takes one of a few words.
func oneOf[T ~string](b *binder, name, usage string, to *T, accepted ...T) {
	words := make([]string, len(accepted))
	for i, word := range accepted {
		words[i] = string(word)
	}
	var word string
	b.flags.Var(flagconf.NewEnum(&word, words...), name, usage+": "+strings.Join(words, " "))
	b.onGiven(name, func() error { *to = T(word); return nil })
}

// parsed defines a flag whose text stands for a value of another type.
func parsed[T any](b *binder, name, usage string, to *T, parse func(string) (T, error)) {
	text := b.flags.String(name, "", usage)
	b.onGiven(name, func() error {
		value, err := parse(*text)
		if err == nil {
			*to = value
		}
		return err
	})
}

// repeated defines a flag that can be given several times; together the values replace the list.
func repeated[T any](b *binder, name, usage string, to *[]T, parse func(string) (T, error)) {
	texts := b.flags.StringArray(name, nil, usage)
	b.onGiven(name, func() error {
		values := make([]T, len(*texts))
		for i, text := range *texts {
			var err error
			if values[i], err = parse(text); err != nil {
				return err
			}
		}
		*to = values
		return nil
	})
}

// pairs defines a flag of NAME=VALUE that can be given several times; together the values replace the map.
func pairs[T any](b *binder, name, usage string, to *map[string]T, parse func(string) (T, error)) {
	texts := b.flags.StringArray(name, nil, usage)
	b.onGiven(name, func() error {
		values := make(map[string]T, len(*texts))
		for _, text := range *texts {
			key, value, ok := strings.Cut(text, "=")
			if !ok || key == "" {
				return fmt.Errorf("%q is not NAME=VALUE", text)
			}
			if _, twice := values[key]; twice {
				return fmt.Errorf("%q is given twice", key)
			}
			var err error
			if values[key], err = parse(value); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
		*to = values
		return nil
	})
}

// asText takes text as it is.
func asText(text string) (string, error) { return text, nil }
