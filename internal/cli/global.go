package cli

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
	"github.com/carillon-scheduler/carillon/internal/zonedata"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	defaultNATS      = "nats://127.0.0.1:4222"
	defaultNamespace = "default"
	defaultTaskQueue = "default"

	flagLogLevel = "log-level"
)

// globalOptions are the flags of every command.
type globalOptions struct {
	connectOptions
	namespace string
	prefix    string
	identity  string
	logLevel  string
	logFormat string
	noColor   bool
	// zoneinfo is the path of time zone data that replaces the data in the binary.
	zoneinfo string

	// names are derived from the prefix by check.
	names subjects.Names
}

func (o *globalOptions) define(root *cobra.Command) {
	*o = globalOptions{namespace: defaultNamespace, prefix: subjects.DefaultPrefix, logLevel: "info", logFormat: "text"}
	flags := root.PersistentFlags()
	flags.SortFlags = false
	o.connectOptions.define(flags)
	flags.StringVar(&o.namespace, "namespace", o.namespace, "`NAME` of the namespace; the pools serve all namespaces")
	flags.StringVar(&o.prefix, "prefix", o.prefix, "`WORD` that begins all NATS names of the installation")
	flags.StringVar(&o.identity, "identity", "", "`TEXT` that says who asks, for the event history; user@host if not given")
	flags.String(flagconf.FileFlag, "", "read settings from a YAML `FILE`, one \"flag: value\" a line")
	flags.Var(flagconf.NewEnum(&o.logLevel, "debug", "info", "warn", "error"), flagLogLevel,
		"least `LEVEL` to log: debug, info, warn or error")
	flags.Var(flagconf.NewEnum(&o.logFormat, "text", "json"), "log-format", "`FORMAT` of the log on standard error: text or json")
	flags.StringVar(&o.zoneinfo, "zoneinfo", "", "take time zones from `FILE`, a zip file or a directory of compiled ones such as "+
		"/usr/share/zoneinfo, not from the program")
	flags.BoolVar(&o.noColor, "no-color", false, "do not colour the output; NO_COLOR in the environment and a pipe do the same")
	flags.VisitAll(func(flag *pflag.Flag) { annotate(flag, globalGroup) })
}

// check refuses names that no NATS cluster could have.
func (o *globalOptions) check() (err error) {
	if o.names, err = subjects.New(o.prefix); err != nil {
		return err
	}
	return schedule.ValidateNamespace(o.namespace)
}

// useZones replaces the time zone data of this process if the user has named other data.
func (a *app) useZones() error {
	if a.global.zoneinfo == "" {
		return nil
	}
	data, err := zonedata.Open(a.global.zoneinfo)
	if err != nil {
		return withHint(fmt.Errorf("--zoneinfo: %w", err), "docs/operations.md says how to bring newer time zone data")
	}
	a.env.UseZones(data)
	return nil
}

// logger returns the log of a command.
func (a *app) logger() *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(strings.ToUpper(a.global.logLevel))) // the flag accepts only valid levels
	options := &slog.HandlerOptions{Level: level}
	if a.global.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(a.env.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(a.env.Stderr, options))
}

// identity is the name of the requester in the event history.
func (a *app) identity() string { return cmp.Or(a.global.identity, operator()) }

// operator is the user of this program, as far as the machine knows.
func operator() string {
	name := "unknown"
	if current, err := user.Current(); err == nil {
		name = current.Username
	}
	host, _ := os.Hostname() // without a host name, the user name must do
	return name + "@" + cmp.Or(host, "unknown")
}
