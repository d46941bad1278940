// detect prints the kind of cluster that this machine uses (real, simulated or given), and the reason on a second line. Run it in the root
// of the project.
package main

import (
	"fmt"
	"os"

	"github.com/echo-operator/echo-operator/tests/cluster/machine"
)

func main() {
	cache, err := machine.Cache()
	if err != nil {
		fmt.Fprintln(os.Stderr, "detect: "+err.Error())
		os.Exit(1)
	}
	choice := machine.Choose(cache)
	fmt.Printf("%s\n%s\n", choice.Kind, choice.Why)
}
