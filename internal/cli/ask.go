package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// canAsk reports whether somebody sits at the terminal who can be asked.
func (a *app) canAsk() bool {
	file, ok := a.env.Stdin.(*os.File)
	return ok && isTerminal(file)
}

// ask asks whoever sits at the terminal a question, and returns an error unless the answer is yes.
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
