// detect prints the kind of cluster that this machine uses (real, simulated or given), followed by the reason on a second line. Run detect
// in the project's root directory.
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
