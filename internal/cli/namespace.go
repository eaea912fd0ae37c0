package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) namespaceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "namespace",
		Short: "Look after namespaces: their limits, freezes, and whether they are there",
		Long: `Creates and deletes namespaces, sets their limits, and freezes them: then nothing
starts by itself until the freeze is over.`,
	}
	cmd.AddCommand(
		a.namespaceListCommand(), a.namespaceDescribeCommand(), a.namespaceCreateCommand(), a.namespaceUpdateCommand(),
		a.namespaceFreezeCommand(), a.namespaceUnfreezeCommand(), a.namespaceDeleteCommand(),
	)
	for _, child := range cmd.Commands() {
		if strings.Contains(child.Use, " NAME") && child.Name() != "create" {
			child.ValidArgsFunction = a.namespacesFor
		}
	}
	makeParent(cmd)
	return cmd
}

func (a *app) namespaceListCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:     "list [flags]",
		Short:   "List the namespaces by name",
		Example: "  carillon namespace list",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.callAPI(cmd.Context(), "", func(ctx context.Context, api *client.Client) error {
				name := func(d *schedule.NamespaceDescription) string { return d.Name }
				return printAll(a, output, api.Namespaces(ctx), name, render.NamespaceList)
			})
		},
	}
	output.defineList(cmd)
	return cmd
}

func (a *app) namespaceDescribeCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "describe NAME [flags]",
		Short: "Show the limits of a namespace, what it makes of them, and its freeze",
		Example: `  carillon namespace describe billing
  carillon namespace describe billing -o json | jq .info.usage.schedules`,
		Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.callAPI(cmd.Context(), "", func(ctx context.Context, api *client.Client) error {
				d, err := api.DescribeNamespace(ctx, args[0])
				if err != nil {
					return err
				}
				return a.printNamespace(output, &d)
			})
		},
	}
	output.define(cmd)
	return cmd
}

// printNamespace prints everything known about a namespace.
func (a *app) printNamespace(output outputFlag, d *schedule.NamespaceDescription) error {
	return a.print(output, *d, func(w io.Writer) error { return render.Namespace(w, d, a.view()) })
}

// namespacesFor lists the namespaces whose name begins with the typed text. It is idsFor for namespaces.
func (a *app) namespacesFor(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if a.applySettings(cmd, args) != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	var names []string
	err := a.callAPI(ctx, "", func(ctx context.Context, api *client.Client) error {
		for namespace, err := range api.Namespaces(ctx) {
			if err != nil {
				return err
			}
			if strings.HasPrefix(namespace.Name, typed) && len(names) < completions {
				names = append(names, namespace.Name+"\t"+namespace.Description)
			}
		}
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
