package cli

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/internal/zonedata"
)

// build says what was built.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	// Modified says that the working copy differed from the commit.
	Modified   bool   `json:"modified,omitempty"`
	Go         string `json:"go"`
	Platform   string `json:"platform"`
	NATSServer string `json:"natsServer"`
	// Zones is the version of the time zone data that this process uses. ZonesFrom is its path, unless it is the data in the program.
	Zones     string `json:"zones"`
	ZonesFrom string `json:"zonesFrom,omitempty"`
}

func (a *app) versionCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "version [flags]",
		Short: "Say which version this is",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			return a.print(output, readBuild(), func(w io.Writer) error { return readBuild().write(w) })
		},
	}
	output.define(cmd)
	return cmd
}

func readBuild() build {
	b := build{
		Version: "dev", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		NATSServer: natsserver.VERSION,
		Zones:      zonedata.Current().Version(), ZonesFrom: zonedata.Current().Source(),
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "(devel)" {
		b.Version = cmp.Or(info.Main.Version, b.Version)
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	return b
}

// semantic returns the version as a semantic version without "v", the form that NATS micro services require.
func (b build) semantic() string {
	version, ok := strings.CutPrefix(b.Version, "v")
	if !ok {
		return "0.0.0-dev"
	}
	return version
}

func (b build) write(w io.Writer) error {
	commit := b.Commit
	if b.Modified {
		commit += " (modified)"
	}
	_, err := fmt.Fprintf(w, "carillon     %s\ncommit       %s\ngo           %s %s\nnats-server  %s\nzones        %s\n",
		b.Version, cmp.Or(commit, "unknown"), b.Go, b.Platform, b.NATSServer, zonedata.Current().Text())
	return err
}
