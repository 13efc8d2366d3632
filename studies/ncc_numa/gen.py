PROG = {
 "lu": dict(lu_contiguous="false", placement="equal_cut", moves_private="nothing"),
 "barnes": dict(lu_contiguous="true", placement="equal_cut", moves_private="nothing"),
 "ocean": dict(lu_contiguous="true", placement="owner", moves_private="parts"),
 "fft": dict(lu_contiguous="true", placement="owner", moves_private="nothing"),
}
import json,sys
WORK=json.load(open("/tmp/work.json"))
def zipped(progs):
    q=lambda k:", ".join('"%s"'%PROG[p][k] for p in progs)
    return f'''[[experiment.zipped]]
program = [{", ".join('"%s"'%p for p in progs)}]
placement = [{q("placement")}]
moves_private = [{q("moves_private")}]
lu_contiguous = [{", ".join(PROG[p]["lu_contiguous"] for p in progs)}]
work = [{", ".join(str(WORK[p]) for p in progs)}]
'''
ALL=["lu","barnes","ocean","fft"]
RULE="\n# ---------------------------------------------------------------------------------------------\n"
out=[]
def exp(name,title,machine,factors,*,progs=ALL,fixed="",responses='["run_s", "remote_share", "waiting_s"]',comment="",speed=True,quick=None,compare="",qfixed=""):
    s=RULE+comment+f'''[[experiment]]
name = "{name}"
title = "{title}"
responses = {responses}
system = {{ name = "shared_machine", machine = "{machine}" }}
factors = {factors}
replications = {{ count = 5 }}
{fixed}
'''
    s+=zipped(progs)
    if speed:
        s+='''
[[experiment.derived]]
name = "speedup"
of = "run_s"
ratio_to = { nodes = 1 }
inverse = true
better = "high"
'''
    s+=compare
    s+="\n[experiment.quick]\n"+(quick if quick else f"factors = {factors}\n")
    return s
head='''# The evaluation of Oh and Chung: LU, Barnes, Ocean and FFT on a cluster over SCI, with a network cache and without.
# Run it with `headroom run studies/ncc_numa`; the page is results/report.html beside this file.
#
# "paper by Oh and Chung" is Oh, Chung: Design and Implementation of an SCI-Based Network Cache Coherent
# NUMA System for High-Performance PC Clustering. `ncc` is its card with a network cache, `numa` the
# Dolphin card without one. The machines' numbers and their sources are in the layer's folder
# (simulated/machines). On one node all data are in private memory, so both have the same time there.
#
# Fitted, and the same for all experiments: `work` of each program (the paper gives no time of any
# program), local_write_s, and barrier_s, to the sixteen speed-ups of table 5. Table 1 fixes controller_s.
schema = 1
name = "ncc_numa"
title = "Is a cache in front of far memory worth it? The cluster of Oh and Chung, simulated"
question = """\\
A network cache makes remote memory near, but moves shared memory behind the I/O bus. For which programs, \\
nodes, lines and ways is that worth it?"""
seed = 20041119
'''
READ='''
[[experiment.zipped]]
reads_of = ["private", "local", "remote"]
reads_words = [4096, 32_768, 32_768]
reads_stride = [32, 256, 256]

[[experiment.derived]]
name = "read_s"
of = "run_s"
divided_by = "reads_words"
unit = "s"
better = "low"
'''
body=""
for m,t in (("ncc","with the NCC-NUMA card"),("numa","with the Dolphin card"),("prototype","with the prototype, whose remote accesses cross the bus twice")):
    body+=RULE+("# Table 1: reads one after another. The loop around them takes no time here.\n" if m=="ncc" else "")+f'''[[experiment]]
name = "reads_{m}"
title = "Table 1: a read {t}"
responses = ["run_s"]
system = {{ name = "shared_machine", machine = "{m}" }}
fixed = {{ program = "reads", nodes = 2, placement = "owner", barrier_s = 0.0, work = 0.001 }}
replications = {{ count = 2 }}
'''+READ
SP='["run_s", "remote_share", "missed_per_local"]'
body+=exp("numa","Table 5: without a network cache","numa","{ nodes = [1, 2, 4] }",responses=SP,comment="# Table 5 and figure 6.\n")
body+=exp("ncc","Table 5: with a network cache","ncc","{ nodes = [1, 2, 4] }",responses=SP,compare='''
[[experiment.derived]]
name = "gain"
of = "run_s"
ratio_to = {}
to_experiment = "numa"
inverse = true
better = "high"
''')
body+=exp("lines","Table 3: lines, direct-mapped","ncc","{ nodes = [1, 2, 4], line_bytes = [32, 64, 128] }",fixed="fixed = { cache_ways = 1 }",responses='["run_s", "misses"]',quick='factors = { nodes = [1, 4], line_bytes = [32, 64, 128] }\n')
body+=exp("ways","Table 4: ways, by what the index has","ncc","{ nodes = [1, 2, 4], cache_ways = [1, 2, 4, 8], index_has_home = [false, true] }",responses='["run_s", "misses"]',quick='factors = { nodes = [1, 4], cache_ways = [1, 2, 4, 8], index_has_home = [false, true] }\nzipped = [{ program = ["lu"], placement = ["equal_cut"], moves_private = ["nothing"], lu_contiguous = [false], work = [3.0] }]\n')
for m in ("numa","ncc"):
    extra='''
[[experiment.derived]]
name = "gain"
of = "run_s"
ratio_to = {}
to_experiment = "more_numa"
inverse = true
better = "high"
''' if m=="ncc" else ""
    body+=exp("more_"+m,"More nodes: "+("with" if m=="ncc" else "without")+" a network cache",m,"{ nodes = [1, 2, 4, 8, 16, 32] }",fixed='fixed = { shared_bytes = { value = 50_331_648, source = "assumed: as with the network cache, so that all nodes have addresses" } }' if m=="numa" else "",compare=extra,quick='factors = { nodes = [1, 4, 8, 16] }\nzipped = [{ program = ["lu", "fft"], placement = ["equal_cut", "owner"], moves_private = ["nothing", "nothing"], lu_contiguous = [false, true], work = [3.0, 39.0] }]\n',comment="# Beyond the paper: it expects the advantage to grow from 8 nodes on.\n" if m=="numa" else "")
body+=exp("switch","The card with its cache switched off","ncc","{ nodes = [1, 4], protocol = [\"sci\", \"uncached\"] }",comment="# The paper names an option to run a program without the network cache.\n",quick='factors = { nodes = [1, 4], protocol = ["sci", "uncached"] }\nzipped = [{ program = ["lu", "fft"], placement = ["equal_cut", "owner"], moves_private = ["nothing", "nothing"], lu_contiguous = [false, true], work = [3.0, 39.0] }]\n')
body+=exp("purge","Lists or a directory: serial or parallel invalidation","ncc","{ nodes = [1, 4, 16, 32], protocol = [\"sci\", \"directory\"] }",comment="# SCI purges the copies of a line one by one, a directory all at once.\n",quick="skip = true\n")
body+=RULE+'''# PCI-X and PCI Express, which the paper names: the accesses of the card take less time.
[[experiment]]
name = "buses"
title = "Faster I/O buses, with a network cache"
responses = ["run_s", "remote_share"]
system = { name = "shared_machine", machine = "ncc" }
factors = { nodes = [1, 4] }
replications = { count = 2 }

[[experiment.zipped]]
bus = ["PCI", "PCI 66", "PCI-X"]
'''.replace('bus = ["PCI", "PCI 66", "PCI-X"]\n','''local_read_s = [9e-7, 6e-7, 3e-7, 1.5e-7]
hit_read_s = [9e-7, 6e-7, 3e-7, 1.5e-7]
request_s = [4.5e-7, 3e-7, 1.5e-7, 7.5e-8]
reply_s = [4.5e-7, 3e-7, 1.5e-7, 7.5e-8]

''')+zipped(ALL)+'''
[[experiment.derived]]
name = "speedup"
of = "run_s"
ratio_to = { nodes = 1 }
inverse = true
better = "high"

[[experiment.derived]]
name = "gain"
of = "run_s"
ratio_to = {}
to_experiment = "numa"
inverse = true
better = "high"

[experiment.quick]
skip = true
'''
body+=RULE+'''# The networks of the paper's introduction, without a cache: a read is a message there and one back.
[[experiment]]
name = "networks"
title = "Other networks, without a network cache"
responses = ["run_s", "remote_share"]
system = { name = "shared_machine", machine = "numa" }
replications = { count = 2 }
factors = { nodes = [1, 4], controller_s = [6.67e-7, 2.8e-6, 2.2e-5] }

'''+zipped(ALL)+'''
[[experiment.derived]]
name = "speedup"
of = "run_s"
ratio_to = { nodes = 1 }
inverse = true
better = "high"

[experiment.quick]
skip = true
'''
for t,l,lv in (("table3","Table 3","line_bytes = [32, 64]"),("table4","Table 4","cache_ways = [1, 2, 4]"),("table5_numa","Table 5, without a network cache",""),("table5_ncc","Table 5, with a network cache",""),("table6","Table 6","")):
    metric="remote_per_local" if t=="table6" else "speedup"
    body+=RULE+f'''[[experiment]]
name = "{t}"
title = "{l} as published"
responses = ["{metric}"]
system = {{ name = "imported", file = "recorded/{t}.json", exact = true }}
factors = {{ program = ["lu", "barnes", "ocean", "fft"], nodes = [2, 4]{", "+lv if lv else ""} }}
replications = {{ count = 20 }}
'''
def claim(name,text,kind,experiment,metric,rest,published,source,fitted=False):
    return f'''
[[claim]]
name = "{name}"
text = "{text}"
kind = "{kind}"
experiment = "{experiment}"
metric = "{metric}"
{rest}
published = "{published}"
source = "paper by Oh and Chung, {source}"
'''+("fitted = true\n" if fitted else "")
c=RULE+"# Claims.\n"
for m,of,v,txt in (("ncc","private",1e-8,"10 ns"),("ncc","local",9e-7,"0.9 us"),("ncc","remote",5.38e-6,"5.38 us"),("numa","remote",4.02e-6,"4.02 us; 4.2 us in the introduction")):
    c+=claim(f"read-{m}-{of}",f"A read of {of} memory takes {txt.split(';')[0]} {'with' if m=='ncc' else 'without'} a network cache, within 2%","value",f"reads_{m}","read_s",f'where = {{ reads_of = "{of}" }}\nvalue = {v}\ntolerance = 0.02',txt,"table 1",fitted=of=="remote")
for m,w in (("numa","without"),("ncc","with")):
    c+=claim(f"errors-{m}",f"The speed-ups {w} a network cache are those of table 5: median error at most 10%, none above 35%","errors",m,"speedup",f'to_experiment = "table5_{m}"\nmedian_at_most = 0.10\nworst_at_most = 0.35',"eight speed-ups","table 5",fitted=True)
for t,e,w in (("table3","lines","lines of 32 and 64 B"),("table4","ways","1, 2 and 4 ways")):
    c+=claim(f"errors-{t}",f"The speed-ups of {w} are those of {t.replace('e3','e 3').replace('e4','e 4')}: median error at most 15%, none above 35%","errors",e,"speedup",('where = { index_has_home = true }\n' if e=="ways" else "")+f'to_experiment = "{t}"\nmedian_at_most = 0.15\nworst_at_most = 0.35',"speed-ups",t.replace("e3","e 3").replace("e4","e 4"))
c+=claim("errors-table6","Accesses beyond the processors' caches have the ratios of table 6: median error at most 20%, rank correlation at least 0.9","errors","ncc","missed_per_local",'to_experiment = "table6"\nto_metric = "remote_per_local"\nmedian_at_most = 0.20\nrank_at_least = 0.9',"eight ratios","table 6")
for p in ALL:
    for n in (2,4):
        c+=claim(f"gain-{p}-{n}",f"{p.upper() if p in('lu','fft') else p.capitalize()} on {n} nodes takes less time with a network cache","value","ncc","gain",f'where = {{ program = "{p}", nodes = {n} }}\nat_least = 1.0',{"lu":("39%","56%"),"barnes":("18%","31%"),"ocean":("4%","9%"),"fft":("3%","5%")}[p][n//4]+" less time","table 5")
c+=claim("gain-order","The gain on four nodes is in the order FFT, Ocean, Barnes, LU","ordering","ncc","gain",'where = { nodes = 4 }\nfactor = "program"\norder = ["fft", "ocean", "barnes", "lu"]',"5%, 9%, 31%, 56%","table 5")
c+=claim("lu-slower","LU without a network cache is slower on two nodes than on one","value","numa","speedup",'where = { program = "lu", nodes = 2 }\nat_most = 1.0',"0.83","table 5",fitted=True)
c+=claim("lu-equal","LU without a network cache is about as fast on four nodes as on one, within 10%","value","numa","speedup",'where = { program = "lu", nodes = 4 }\nvalue = 1.0\ntolerance = 0.1',"1.06","section 5.2.3",fitted=True)
for p,vals in (("lu",(.58,.71)),("barnes",(.43,.54))):
    for n,v in zip((2,4),vals):
        c+=claim(f"share-{p}-{n}",f"Remote accesses take {int(v*100)}% of the time of {p.upper() if p=='lu' else 'Barnes'} on {n} nodes without a network cache, within a quarter","value","numa","remote_share",f'where = {{ program = "{p}", nodes = {n} }}\nvalue = {v}\ntolerance = 0.25',f"{int(v*100)}%","section 5.2.3")
for p in ("lu","barnes"):
    c+=claim(f"flat-{p}",f"The remote time of {p.upper() if p=='lu' else 'Barnes'} with a network cache grows by less than a half from two to four nodes","ratio","ncc","remote_s",f'where = {{ program = "{p}", nodes = 4 }}\nto = {{ program = "{p}", nodes = 2 }}\nat_most = 1.5',"does not grow much","section 5.2.3")
for p in ALL:
    P=p.upper() if p in("lu","fft") else p.capitalize()
    c+=claim(f"lines-64-{p}",f"{P} on four nodes is faster with lines of 64 B than of 32 B","ratio","lines","speedup",f'where = {{ program = "{p}", nodes = 4, line_bytes = 64 }}\nto = {{ program = "{p}", nodes = 4, line_bytes = 32 }}\nat_least = 1.0',"2.31 to 1.98 and the like","table 3")
    c+=claim(f"lines-128-{p}",f"{P} on four nodes gains at most 3% by lines of 128 B","ratio","lines","speedup",f'where = {{ program = "{p}", nodes = 4, line_bytes = 128 }}\nto = {{ program = "{p}", nodes = 4, line_bytes = 64 }}\nat_most = 1.03',"very little, or a loss","section 5.2.1")
c+=claim("ways-rise","More ways make LU on four nodes faster, if the index has no home","monotone","ways","speedup",'where = { program = "lu", nodes = 4, index_has_home = false }\nfactor = "cache_ways"\ndirection = "rises"\ntolerance = 0.001',"2.31, 2.38, 2.42","table 4")
c+=claim("ways-8","8 ways make LU on four nodes at most 1% faster than 4","ratio","ways","speedup",'where = { program = "lu", nodes = 4, cache_ways = 8, index_has_home = false }\nto = { program = "lu", nodes = 4, cache_ways = 4, index_has_home = false }\nat_most = 1.01',"little","section 5.2.2")
c+=claim("ways-index","With the home in the index ways do not matter for LU on four nodes","ratio","ways","speedup",'where = { program = "lu", nodes = 4, cache_ways = 4, index_has_home = true }\nto = { program = "lu", nodes = 4, cache_ways = 1, index_has_home = true }\nvalue = 1.0\ntolerance = 0.005',"not said","our reading of table 4")
c+=claim("more-8","The gain of LU is larger on 8 nodes than on 4","ratio","more_ncc","gain",'where = { program = "lu", nodes = 8 }\nto = { program = "lu", nodes = 4 }\nat_least = 1.0',"grows with 8 nodes and more","section 5.2.3")
c+=claim("addresses","8 nodes with 512 MB of main memory have addresses for 437 MB of shared memory each, within 1%","value","addresses","most_shared_bytes","value = 437e6\ntolerance = 0.01","437 MB = (4 GB - 500 MB) / 8","section 4")
OURS='source = "ours: beyond the paper"'
def ours(*a): return claim(*a,"not said","X").replace('source = "paper by Oh and Chung, X"',OURS)
c+=ours("more-16","The gain of LU is larger on 16 nodes than on 8","ratio","more_ncc","gain",'where = { program = "lu", nodes = 16 }\nto = { program = "lu", nodes = 8 }\nat_least = 1.0')
c+=ours("more-barnes","The gain of Barnes is larger on 8 nodes than on 4","ratio","more_ncc","gain",'where = { program = "barnes", nodes = 8 }\nto = { program = "barnes", nodes = 4 }\nat_least = 1.0')
for p in ("ocean","fft"):
    P="FFT" if p=="fft" else "Ocean"
    c+=ours(f"switch-{p}",f"With the cache of the card switched off, {P} on four nodes is faster","ratio","switch","speedup",f'where = {{ program = "{p}", nodes = 4, protocol = "uncached" }}\nto = {{ program = "{p}", nodes = 4, protocol = "sci" }}\nat_least = 1.0')
c+=ours("switch-lu","With the cache of the card switched off, LU on four nodes is at least a third slower","ratio","switch","speedup",'where = { program = "lu", nodes = 4, protocol = "uncached" }\nto = { program = "lu", nodes = 4, protocol = "sci" }\nat_most = 0.67')
c+=ours("purge-barnes","On 32 nodes Barnes is at least 10% faster with a directory than with lists","ratio","purge","speedup",'where = { program = "barnes", nodes = 32, protocol = "directory" }\nto = { program = "barnes", nodes = 32, protocol = "sci" }\nat_least = 1.1')
c+=ours("purge-four","On four nodes LU is as fast with a directory as with lists, within 3%","ratio","purge","speedup",'where = { program = "lu", nodes = 4, protocol = "directory" }\nto = { program = "lu", nodes = 4, protocol = "sci" }\nvalue = 1.0\ntolerance = 0.03')
c+=ours("bus-fft","At 0.15 us for a local read FFT on four nodes is within 5% of the time without a network cache","value","buses","gain",'where = { program = "fft", nodes = 4, local_read_s = 1.5e-7 }\nvalue = 1.0\ntolerance = 0.05')
addr=RULE+'''# Addresses of 32 bits: the paper reckons with 4,000 and 500 MB, we with 4,096 and 512 MiB.
[[experiment]]
name = "addresses"
title = "Shared memory that fits in 32 bits"
responses = ["most_shared_bytes"]
system = { name = "shared_machine", machine = "ncc" }
fixed = { program = "fft", nodes = 8, main_bytes = 536_870_912, placement = "owner" }
replications = { count = 2 }
'''
open("study.toml","w").write(head+body+addr+c)
