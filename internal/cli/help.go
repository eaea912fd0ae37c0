package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
)

const (
	groupAnnotation = "carillon.group"
	globalGroup     = "Global flags"
	otherGroup      = "Flags"
	helpWidth       = 100
)

// annotate puts a flag under a heading of the help.
func annotate(flag *pflag.Flag, group string) {
	flag.Annotations = map[string][]string{groupAnnotation: {group}}
}

// addFlags defines flags of a command under a heading of its help.
func addFlags(cmd *cobra.Command, group string, define func(*pflag.FlagSet)) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SortFlags = false
	define(flags)
	flags.VisitAll(func(flag *pflag.Flag) { annotate(flag, group) })
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(flags)
}

// printHelp writes the help of a command.
func printHelp(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	if cmd.IsAdditionalHelpTopicCommand() {
		_, _ = fmt.Fprintln(w, cmd.Long)
		return
	}
	_, _ = fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", cmp.Or(cmd.Long, cmd.Short), useLine(cmd))
	if cmd.Example != "" {
		_, _ = fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	printCommands(w, cmd)
	printFlags(w, cmd)
	_, _ = fmt.Fprint(w, settingsHelp)
	if !cmd.HasParent() {
		_, _ = fmt.Fprint(w, exitHelp)
	}
}

const settingsHelp = `
Every flag can also be an environment variable, shown in brackets, or a key in the file of --config.
The command line wins over the environment, the environment over the file.
`

const exitHelp = `
Exit codes: 0 done, 1 failed, 2 wrong usage or settings; "carillon help exit-codes" lists the others.
`

func useLine(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() {
		return cmd.CommandPath() + " COMMAND"
	}
	return cmd.UseLine()
}

func printCommands(w io.Writer, cmd *cobra.Command) {
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, group := range groups {
		first := true
		for _, child := range cmd.Commands() {
			if !child.IsAvailableCommand() || child.GroupID != group.ID || child.Name() == "help" {
				continue
			}
			if first {
				_, _ = fmt.Fprintf(w, "\n%s\n", group.Title)
				first = false
			}
			_, _ = fmt.Fprintf(w, "  %-*s  %s\n", child.NamePadding(), child.Name(), child.Short)
		}
	}
}

// printFlags writes the flags under their headings, in the order of their definition. The global flags come last.
func printFlags(w io.Writer, cmd *cobra.Command) {
	var groups []string
	byGroup := map[string][]*pflag.Flag{}
	add := func(flag *pflag.Flag) {
		if flag.Hidden || !flagconf.Configurable(flag) {
			return
		}
		group := groupOf(flag)
		if !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
		byGroup[group] = append(byGroup[group], flag)
	}
	cmd.NonInheritedFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	for _, group := range groups {
		_, _ = fmt.Fprintf(w, "\n%s:\n", group)
		printFlagGroup(w, byGroup[group])
	}
}

func groupOf(flag *pflag.Flag) string {
	if group := flag.Annotations[groupAnnotation]; len(group) > 0 {
		return group[0]
	}
	return otherGroup
}

func printFlagGroup(w io.Writer, flags []*pflag.Flag) {
	names := make([]string, len(flags))
	width := 0
	for i, flag := range flags {
		names[i] = flagSyntax(flag)
		width = max(width, len(names[i]))
	}
	for i, flag := range flags {
		lines := wrap(flagHelp(flag), helpWidth-width-6)
		_, _ = fmt.Fprintf(w, "  %-*s  %s\n", width, names[i], lines[0])
		for _, line := range lines[1:] {
			_, _ = fmt.Fprintf(w, "  %-*s  %s\n", width, "", line)
		}
	}
}

func flagSyntax(flag *pflag.Flag) string {
	syntax := "    --" + flag.Name
	if flag.Shorthand != "" {
		syntax = "-" + flag.Shorthand + ", --" + flag.Name
	}
	if placeholder, _ := pflag.UnquoteUsage(flag); flag.NoOptDefVal == "" && placeholder != "" {
		syntax += " " + placeholder
	}
	return syntax
}

func flagHelp(flag *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(flag)
	if fallback := flag.DefValue; !slices.Contains([]string{"", "[]", "false", "0"}, fallback) {
		if flag.Value.Type() == "string" {
			fallback = strconv.Quote(fallback)
		}
		usage += " (default " + fallback + ")"
	}
	return usage + " [" + flagconf.EnvName(flag.Name) + "]"
}

// wrap breaks text into lines of at most width characters, where it can.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
