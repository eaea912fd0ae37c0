package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/zonedata"
)

// Env is what a command takes from the process it runs in. All fields are required.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Color says that Stdout is a terminal that shows colours.
	Color bool
	// Width returns the number of columns of the terminal that Stdout is, or 0 if Stdout is no terminal.
	Width func() int
	// LookupEnv is like os.LookupEnv.
	LookupEnv func(name string) (string, bool)
	// ReadFile is like os.ReadFile.
	ReadFile func(path string) ([]byte, error)
	// Now is the clock.
	Now func() time.Time
	// Zone is the zone for times whose schedule gives no zone.
	Zone *time.Location
	// UseZones is like zonedata.Use.
	UseZones func(*zonedata.Data)
}

// Main runs one command line, without the name of the program, and returns the exit code. It ends soon after ctx does.
func Main(ctx context.Context, env Env, args []string) int {
	a := &app{env: env}
	root := a.rootCommand()
	root.SetArgs(append([]string{}, args...)) // never nil, or cobra would take the arguments of the process
	return report(env.Stderr, root.ExecuteContext(ctx))
}

// app is one run of the program.
type app struct {
	env    Env
	global globalOptions
	// refusals tell the requests of a command that NATS refuses them.
	refusals client.Refusals
}

// readInput reads a file, or standard input for "-".
func (env Env) readInput(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(env.Stdin)
	}
	return env.ReadFile(path)
}

// canAsk reports whether the program can ask somebody at a terminal.
func (a *app) canAsk() bool {
	file, ok := a.env.Stdin.(*os.File)
	return ok && isTerminal(file)
}

// ask asks the person at the terminal a question. It returns an error unless the answer is yes.
func (a *app) ask(question string) error {
	_, _ = fmt.Fprintf(a.env.Stderr, "%s [y/N] ", question)
	line, err := bufio.NewReader(a.env.Stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return errors.New("nothing was done")
	}
	return nil
}
