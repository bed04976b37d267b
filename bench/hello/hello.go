// Says hello, and is there for as many seconds as its argument says.
package main

import (
	"os"
	"strconv"
	"time"
)

func main() {
	os.Stdout.WriteString("Hello.\n")
	if len(os.Args) > 1 {
		seconds, _ := strconv.Atoi(os.Args[1])
		time.Sleep(time.Duration(seconds) * time.Second)
	}
}
