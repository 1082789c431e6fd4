from anabranch_lab.experiment import Analysis
def analyse(runner):
    return Analysis(claims=[])
