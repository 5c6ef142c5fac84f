// The etcd server out of the module go.etcd.io/etcd/server/v3: its own main lies in a module that nothing else here needs.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
