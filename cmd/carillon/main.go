// Command carillon is the scheduler: its server, each of its roles, and its command line client.
//
// The program may import internal/cli and internal/zonedata.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/carillon-scheduler/carillon/internal/cli"
	"github.com/carillon-scheduler/carillon/internal/zonedata"
)

func main() {
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks for an orderly stop. From then on signals are not caught any more: a second one ends the
	// process at once.
	context.AfterFunc(ctx, stop)
	return cli.Main(ctx, cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Color:     term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		Width:     width,
		UseZones:  zonedata.Use,
		LookupEnv: os.LookupEnv,
		ReadFile:  os.ReadFile,
		Now:       time.Now,
		Zone:      time.Local,
	}, os.Args[1:])
}

// width returns how many columns the terminal has that standard output is; 0 if it is none. The window may be resized.
func width() int {
	columns, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0
	}
	return columns
}
