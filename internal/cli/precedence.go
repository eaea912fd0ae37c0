package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
)

var (
	// embeddedFlags are the flags of carillon server that have no effect on an existing NATS server.
	embeddedFlags = []string{"data", "host", "port", "nats-config", "insecure", "sync"}
	// benchFlags are the flags of carillon bench that have no effect on an existing NATS server.
	benchFlags = []string{"data", "sync", "processes"}
)

// choosePlace decides between two NATS servers: the one that --nats or --context names, and one that this process embeds. The argument
// embedded lists the flags that ask for the latter. If flags for both are set:
//
//  1. The stronger source counts. So a shell variable does not send anybody to another installation than the one they typed.
//  2. Two flags on the command line are an error. With strict, so are two settings of any one source.
//  3. Otherwise the named server counts.
//
// The warning says which settings are not used. It is empty if all are.
func (a *app) choosePlace(cmd *cobra.Command, strict bool, embedded ...string) (warning string, err error) {
	own, named := given(cmd.Flags(), embedded), given(cmd.Flags(), []string{"nats", "context"})
	switch {
	case len(own.all) == 0 || len(named.all) == 0:
		return "", nil
	case own.source == named.source && (strict || own.source == flagconf.CommandLine):
		return "", usagef("%s name two NATS servers: give one of them", listed(append(own.strongest, named.strongest...)))
	case own.source > named.source:
		a.global.nats, a.global.context = "", ""
		return fmt.Sprintf("%s not used, since %s for an embedded NATS server", isOrAre(named.all), isOrAre(own.strongest)), nil
	}
	return fmt.Sprintf("%s not used, since %s a NATS server", isOrAre(own.all), names(named.strongest)), nil
}

// givenFlags are flags that are set, under the names that their sources give them.
type givenFlags struct {
	all []string
	// source is the strongest source that sets any of the flags. strongest are the flags that it sets.
	source    flagconf.Source
	strongest []string
}

// given returns which of some flags are set. These settings count as not set: a switch that is off, an empty text or list, and 0 if that is
// the default.
func given(flags *pflag.FlagSet, names []string) (g givenFlags) {
	for _, name := range names {
		flag := flags.Lookup(name)
		if flag == nil || slices.Contains([]string{"", "false", "[]"}, flag.Value.String()) ||
			flag.DefValue == "0" && flag.Value.String() == "0" {
			continue
		}
		source, text := flagconf.SourceOf(flag)
		if source == flagconf.Default {
			continue
		}
		if source > g.source {
			g.source, g.strongest = source, nil
		}
		if source == g.source {
			g.strongest = append(g.strongest, text)
		}
		g.all = append(g.all, text)
	}
	return g
}

// alternatives are settings that exclude each other. Each is one flag, or several flags that belong together, separated by blanks.
type alternatives []string

// settle lets the strongest source decide between alternatives. It returns in kept what that source sets, under the names of the source. It
// resets what weaker sources set, and returns that in unused. A typed argument, if there is one, counts as an alternative too. More than
// one entry in kept is a contradiction.
func (all alternatives) settle(flags *pflag.FlagSet, typed ...string) (kept [][]string, unused []string) {
	strongest := flagconf.Default
	if len(typed) > 0 {
		kept, strongest = [][]string{{strconv.Quote(typed[0])}}, flagconf.CommandLine
	}
	found := make([]givenFlags, len(all))
	for i, names := range all {
		found[i] = given(flags, strings.Fields(names))
		strongest = max(strongest, found[i].source)
	}
	for i, g := range found {
		switch g.source {
		case flagconf.Default:
		case strongest:
			kept = append(kept, g.strongest)
		default:
			unused = append(unused, g.all...)
			for _, name := range strings.Fields(all[i]) {
				flagconf.Reset(flags.Lookup(name))
			}
		}
	}
	return kept, unused
}

// notUsed says which settings are not used; it is empty if all are used.
func notUsed(unused []string, kept [][]string) string {
	if len(unused) == 0 {
		return ""
	}
	return fmt.Sprintf("%s not used, since %s given", isOrAre(unused), isOrAre(slices.Concat(kept...)))
}

// choose settles alternatives, warns about settings that are not used, and refuses a contradiction.
func (all alternatives) choose(stderr io.Writer, flags *pflag.FlagSet, typed ...string) error {
	kept, unused := all.settle(flags, typed...)
	if len(kept) > 1 {
		return usagef("%s do not go together: give one of them", listed(slices.Concat(kept...)))
	}
	if text := notUsed(unused, kept); text != "" {
		_, _ = fmt.Fprintln(stderr, "warning: "+text)
	}
	return nil
}

// listed joins words: a, b and c.
func listed(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

func isOrAre(words []string) string {
	if len(words) == 1 {
		return words[0] + " is"
	}
	return listed(words) + " are"
}

func names(words []string) string {
	if len(words) == 1 {
		return words[0] + " names"
	}
	return listed(words) + " name"
}

// warnOfPlace is choosePlace for a command without a log.
func (a *app) warnOfPlace(cmd *cobra.Command, strict bool, embedded ...string) error {
	warning, err := a.choosePlace(cmd, strict, embedded...)
	if err == nil && warning != "" {
		_, _ = fmt.Fprintln(a.env.Stderr, "warning: "+warning)
	}
	return err
}

// dataFolder returns the folder of --data, or nothing if the command is to use a NATS server.
func (a *app) dataFolder(cmd *cobra.Command, data string) (string, error) {
	if err := a.warnOfPlace(cmd, true, "data"); err != nil {
		return "", err
	}
	if a.global.isExternal() {
		return "", nil
	}
	return data, nil
}
